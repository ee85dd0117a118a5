import { el } from "./dom.js";
import { indentedTokens, kindOf, readable } from "./json-text.js";

/** Longer values are cut, to keep the page fast. The tab with the body shows more. */
const SHOWN_CHARACTERS = 20_000;

/** One row of a response, with a line for each column: name, type and value. */
export function recordOf({ columns, row, label }) {
  return el(
    "div",
    { class: "scrolls record-box", tabindex: "0", role: "region", "aria-label": label },
    el(
      "table",
      { class: "record" },
      el(
        "tbody",
        {},
        columns.map(({ name, type }, index) =>
          el(
            "tr",
            {},
            el(
              "th",
              { scope: "row" },
              el("span", { class: "column-name" }, name),
              el("span", { class: "column-type" }, type),
            ),
            cellOf(row[index]),
          ),
        ),
      ),
    ),
  );
}

function cellOf(value = "null") {
  if (value === "null") return el("td", { class: "null" }, "NULL");
  const kind = kindOf(value);
  const isNested = kind === "object" || kind === "array";
  const text = isNested
    ? [...indentedTokens(value, SHOWN_CHARACTERS)].map((token) => token.text).join("")
    : readable(value);
  return el(
    "td",
    { class: `is-${kind}` },
    text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text,
  );
}
