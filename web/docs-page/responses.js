import { el, inline } from "./dom.js";
import { capitalize, choicesOf, fieldsOf, limitsOf, typeLabel } from "./schema.js";

/** The documented responses of an endpoint, by status. */
export function responsesOf(document, operation) {
  return el(
    "section",
    { class: "responses", "aria-labelledby": "responses-title" },
    el("h2", { id: "responses-title" }, "Responses"),
    el(
      "div",
      { class: "response-list" },
      operation.responses.map((response) => responseOf(document, response)),
    ),
  );
}

function responseOf(document, { status, description, headers, media }) {
  const family = status.startsWith("2") ? "good" : status.startsWith("3") ? "other" : "bad";
  const json = media.find(({ type }) => type === "application/json") ?? media[0];
  const lines = json === undefined ? [] : [...fieldsOf(document, json.schema)];
  return el(
    "details",
    { class: "response" },
    el(
      "summary",
      {},
      el("span", { class: `status ${family}` }, status),
      el("span", { class: "response-text" }, inline(description)),
    ),
    el(
      "div",
      { class: "response-body" },
      media.length > 0 &&
        el(
          "ul",
          { class: "media" },
          media.map(({ type }) => el("li", {}, el("code", {}, type))),
        ),
      lines.length > 0 && schemaTable(lines, typeLabel(document, json.schema)),
      headers.length > 0 && headerTable(document, headers),
    ),
  );
}

function schemaTable(lines, label) {
  return el(
    "div",
    { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Fields of the response" },
    el(
      "table",
      { class: "schema" },
      el("caption", {}, label.startsWith("array") ? "Array of objects with" : "Object with"),
      el("tbody", {}, lines.map(lineOf)),
    ),
  );
}

function lineOf({ depth, name, type, description, schema }) {
  const values = Array.isArray(schema.enum) ? `One of ${choicesOf(schema).slice(0, 20).join(", ")}` : "";
  const notes = [description.replace(/\.$/, ""), values, ...limitsOf(schema).map(capitalize)]
    .filter((text) => text !== "")
    .join(". ");
  return rowOf(el("th", { scope: "row", class: `depth-${Math.min(depth, 6)}` }, el("code", {}, name)), type, notes);
}

function rowOf(head, type, notes) {
  const cell = el(
    "td",
    {},
    el("span", { class: "type" }, type),
    notes !== "" && el("p", { class: "muted" }, inline(notes)),
  );
  return el("tr", {}, head, cell);
}

function headerTable(document, headers) {
  return el(
    "div",
    { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Headers" },
    el(
      "table",
      { class: "schema" },
      el("caption", {}, "Headers"),
      el(
        "tbody",
        {},
        headers.map(({ name, description, schema }) =>
          rowOf(el("th", { scope: "row" }, el("code", {}, name)), typeLabel(document, schema), description),
        ),
      ),
    ),
  );
}
