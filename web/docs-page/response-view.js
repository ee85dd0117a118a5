import { copyButton, el, toast } from "./dom.js";
import { gridOf } from "./grid.js";
import { indentedTokens, isJson } from "./json-text.js";
import { recordOf } from "./record.js";
import { readRows } from "./rows.js";
import { download, fileNameOf, nextRequestOf, saveBlob, withFormat } from "./send.js";
import { createTabs } from "./tabs.js";

/** Longer bodies are cut, to keep the page fast. */
const SHOWN_CHARACTERS = 400_000;
/** Each coloured token is an element, so only the beginning is coloured. */
const COLOURED_CHARACTERS = 60_000;

/** A response: status, rows as a table, body and headers. `load` replaces it with another page. */
export function responseView(response, { operation, root, load, previous, form }) {
  const isJsonBody = response.text !== undefined && !response.isCut && isJson(response.text);
  const isGood = response.status >= 200 && response.status < 300;
  const rowData = isJsonBody && isGood ? readRows(response.text, operation.columns, operation.singleRowIn) : undefined;
  const tabs = [
    rowData && {
      name: "table",
      label: operation.singleRowIn === undefined ? "Table" : "Object",
      panel: () =>
        operation.singleRowIn === undefined
          ? tableOf(rowData, response, { operation, root, load, previous })
          : recordOf({ columns: rowData.columns, row: rowData.rows[0], label: `Object of ${operation.path}` }),
    },
    { name: "body", label: "Body", panel: () => bodyOf(response, isJsonBody) },
    { name: "headers", label: "Headers", panel: () => headersOf(response.headers) },
  ].filter(Boolean);
  const formats = rowData === undefined ? [] : operation.formats;
  return el(
    "div",
    { class: "received-content" },
    statusLine(response),
    !isGood && problemOf(response, isJsonBody),
    createTabs("Response", tabs, {
      chosen: form.tab,
      onChange: (name) => {
        form.tab = name;
      },
      extra: formats.length > 0 ? [downloads(response.request, formats, rowData)] : [],
    }),
  );
}

function statusLine({ status, statusText, milliseconds, bytes, request, isCut }) {
  const url = new URL(request.url);
  const family = status < 300 ? "good" : status < 400 ? "other" : "bad";
  return el(
    "div",
    { class: "status-line" },
    el("span", { class: `status ${family}` }, `${status} ${statusText}`.trim()),
    el("span", { class: "muted" }, `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`),
    el("span", { class: "muted" }, `${isCut ? "more than " : ""}${sizeText(bytes.length)}`),
    el("code", { class: "asked" }, `${request.method} ${url.pathname}${url.search}`),
  );
}

function sizeText(bytes) {
  if (bytes < 1000) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** The errors of a response, as `{ field, message }`. */
export function errorsOf({ text, status }) {
  if (status < 400 || text === undefined || !isJson(text)) return [];
  const errors = JSON.parse(text)?.errors;
  if (!Array.isArray(errors)) return [];
  return errors.filter((each) => typeof each?.field === "string" && typeof each.message === "string");
}

function problemOf(response, isJsonBody) {
  const errors = errorsOf(response);
  if (errors.length > 0) {
    return el(
      "ul",
      { class: "problems" },
      errors.map(({ field, message }) => el("li", {}, el("code", {}, field), " ", message)),
    );
  }
  const message = isJsonBody ? JSON.parse(response.text)?.error : undefined;
  return typeof message === "string" && el("p", { class: "problems" }, message);
}

function headersOf(headers) {
  return el(
    "div",
    { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Response headers" },
    el(
      "table",
      { class: "headers" },
      el(
        "tbody",
        {},
        headers.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value))),
      ),
    ),
  );
}

function bodyOf(response, isJsonBody) {
  if (response.bytes.length === 0) return el("p", { class: "muted" }, "The response has no body.");
  const save = el(
    "button",
    {
      type: "button",
      class: "quiet",
      on: { click: () => saveBlob(new Blob([response.bytes]), fileNameOf(response.request, extensionOf(response))) },
    },
    "Save",
  );
  if (response.text === undefined) {
    return el(
      "div",
      { class: "body-of" },
      el("p", {}, `${sizeText(response.bytes.length)} of ${response.contentType}. `),
      save,
    );
  }
  const pre = el("pre", { class: "code body-text", tabindex: "0", "aria-label": "Response body" });
  const isShortened = isJsonBody ? appendJson(pre, response.text) : appendPlain(pre, response.text);
  const note = response.isCut
    ? "The response is larger than a page can show; this is its beginning. Download it to see all of it."
    : isShortened && `Only the beginning is shown. Copy or save to get all ${sizeText(response.bytes.length)}.`;
  return el(
    "div",
    { class: "body-of" },
    el(
      "div",
      { class: "body-buttons" },
      copyButton(() => response.text),
      save,
    ),
    note && el("p", { class: "note" }, note),
    pre,
  );
}

function extensionOf({ contentType }) {
  if (/json/.test(contentType)) return /nd|jsonl/.test(contentType) ? "ndjson" : "json";
  return (
    { "text/csv": "csv", "application/vnd.apache.parquet": "parquet", "application/vnd.apache.arrow.stream": "arrows" }[
      contentType.split(";")[0]
    ] ?? "txt"
  );
}

function appendPlain(pre, text) {
  pre.append(text.slice(0, SHOWN_CHARACTERS));
  return text.length > SHOWN_CHARACTERS;
}

/** Appends the JSON on several lines, in colour. Returns whether it was cut. */
function appendJson(pre, text) {
  let length = 0;
  let plain = "";
  for (const token of indentedTokens(text, SHOWN_CHARACTERS)) {
    if (token.kind === "cut") {
      pre.append(plain);
      return true;
    }
    if (token.kind === "mark" || length > COLOURED_CHARACTERS) plain += token.text;
    else {
      pre.append(plain, el("span", { class: `json-${token.kind}` }, token.text));
      plain = "";
    }
    length += token.text.length;
  }
  pre.append(plain);
  return false;
}

function tableOf(rowData, response, { operation, root, load, previous }) {
  const header = (name) => response.headers.find(([each]) => each === name)?.[1];
  const offset = Number(header("x-offset") ?? 0) || 0;
  const { columns, rows, total, hiddenRows } = rowData;
  const next = nextRequestOf(response.request, rowData.next, root);
  const back = previous ?? previousPageOf(response.request, offset, Number(header("x-limit")));
  const pager =
    (next ?? back) !== undefined &&
    el(
      "div",
      { class: "pager" },
      el(
        "button",
        { type: "button", disabled: back === undefined, on: { click: () => load(back, "previous") } },
        "Previous page",
      ),
      el(
        "button",
        { type: "button", disabled: next === undefined, on: { click: () => load(next, "next") } },
        "Next page",
      ),
    );
  const notes = [
    hiddenRows > 0 && `The first ${rows.length} rows are shown, ${hiddenRows} more are not. Download to see all.`,
    total !== undefined &&
      total !== String(rows.length) &&
      "Sorting and downloads cover only this page. Increase limit to get more rows.",
  ].filter(Boolean);
  return el(
    "div",
    { class: "table-of" },
    el(
      "div",
      { class: "table-head" },
      el("p", { class: "counted", role: "status" }, countText(rows.length, offset, total)),
      pager,
    ),
    columns.length === 0
      ? el("p", { class: "muted" }, "No rows.")
      : gridOf({ columns, rows, first: offset + 1, label: `Rows of ${operation.path}` }),
    notes.map((note) => el("p", { class: "hint" }, note)),
  );
}

/** The request for the previous page, derived from the offset. */
function previousPageOf(request, offset, limit) {
  if (offset <= 0 || !(limit > 0)) return undefined;
  const url = new URL(request.url);
  const others = url.search
    .slice(1)
    .split("&")
    .filter((part) => part !== "" && part.split("=")[0] !== "offset");
  url.search = `?${[...others, `offset=${Math.max(0, offset - limit)}`].join("&")}`;
  return { ...request, url: url.href };
}

function countText(count, offset, total) {
  const rows = (number) => `${number} ${String(number) === "1" ? "row" : "rows"}`;
  if (total === undefined || total === String(count)) return rows(count);
  return count === 0
    ? `No rows on this page, ${total} in total`
    : `Rows ${offset + 1} to ${offset + count} of ${total}`;
}

function downloads(request, formats, { isPaged, next }) {
  const buttons = formats.map(({ name, label, extension }) => {
    const button = el("button", { type: "button", class: "quiet" }, label);
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        await download(withFormat(request, name), fileNameOf(request, extension));
      } catch (error) {
        toast(`Download failed: ${error.message}`);
      } finally {
        button.disabled = false;
      }
    });
    return button;
  });
  const what = isPaged && next !== "" ? "Download this page" : "Download";
  return el(
    "div",
    { class: "downloads", role: "group", "aria-label": what },
    el("span", { class: "muted" }, what),
    buttons,
  );
}
