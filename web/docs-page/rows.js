import { elementsOf, kindOf, membersOf, readable } from "./json-text.js";

/** Reads the rows of a response for the grid. Each cell is the JSON text of its value, so no digit is lost. */

/** Further rows are not shown, but included in downloads. */
export const MAX_ROWS = 100_000;

/**
 * The rows in the JSON of a response, as `{ columns, rows, next, total, hiddenRows, isPaged }`. Undefined if there are none.
 * Columns have the order of the rows and their documented types. `singleRowIn` is where the only row is: "body" or "data".
 */
export function readRows(text, documented = [], singleRowIn = undefined) {
  const body = text.trim();
  const envelope = singleRowIn !== "body" && kindOf(body) === "object" ? new Map(membersOf(body)) : undefined;
  const data = envelope === undefined ? body : envelope.get("data");
  if (data === undefined || kindOf(data) !== (singleRowIn === undefined ? "array" : "object")) return undefined;
  const elements = singleRowIn === undefined ? elementsOf(data) : [data];
  const indexes = new Map();
  const rows = elements.slice(0, MAX_ROWS).map((element) => readRow(element, indexes));
  const named = [...indexes.keys()].map(
    (name, index) => documented.find((column) => column.name === name) ?? guessColumn(name, index, rows),
  );
  const total = envelope?.get("total_count");
  const next = envelope?.get("next");
  return {
    columns: rows.length === 0 ? documented : named,
    rows,
    next: next === undefined || kindOf(next) !== "string" ? "" : readable(next),
    total: total === undefined || kindOf(total) !== "number" ? undefined : total,
    hiddenRows: elements.length - rows.length,
    isPaged: envelope?.has("next") === true,
  };
}

/** Reads one row. `indexes` contains the columns found so far, by name. New columns are added. */
function readRow(element, indexes) {
  const cells = [];
  const members = kindOf(element) === "object" ? membersOf(element) : [["value", element]];
  for (const [name, value] of members) {
    if (!indexes.has(name)) indexes.set(name, indexes.size);
    cells[indexes.get(name)] = value;
  }
  return cells;
}

/** Guesses the type of a column that is not documented. */
function guessColumn(name, index, rows) {
  const kinds = new Set(rows.map((row) => row[index] ?? "null").map(kindOf));
  kinds.delete("null");
  const [kind = "null"] = kinds;
  return { name, type: kinds.size > 1 ? "any" : kind, isNumber: kinds.size === 1 && kind === "number" };
}

/** Sorts rows by a column. NULL is last in both directions. Equal rows keep their order. */
export function sortRows(rows, column, direction) {
  const keyed = rows.map((row, index) => ({ row, index, cell: row[column] ?? "null" }));
  const sign = direction === "descending" ? -1 : 1;
  keyed.sort((a, b) => {
    const [isNullA, isNullB] = [a.cell === "null", b.cell === "null"];
    if (isNullA || isNullB) return Number(isNullA) - Number(isNullB) || a.index - b.index;
    return sign * compareCells(a.cell, b.cell) || a.index - b.index;
  });
  return keyed.map(({ row, index }) => ({ row, index }));
}

const ORDER = ["number", "boolean", "string", "array", "object"];
const collator = new Intl.Collator();
/** Dates and timestamps, which sort by their characters. */
const TEMPORAL = /^"\d{4}-\d\d-\d\d/;

export function compareCells(a, b) {
  const [kindA, kindB] = [kindOf(a), kindOf(b)];
  if (kindA !== kindB) return ORDER.indexOf(kindA) - ORDER.indexOf(kindB);
  if (kindA === "number") return compareNumbers(a, b);
  if (kindA !== "string" || (TEMPORAL.test(a) && TEMPORAL.test(b))) return a < b ? -1 : Number(a > b);
  return collator.compare(readable(a), readable(b));
}

/** Compares exactly. Rounding never swaps two numbers, so only numbers that round to the same double need more work. */
export function compareNumbers(a, b) {
  const difference = Number(a) - Number(b);
  if (difference !== 0 && !Number.isNaN(difference)) return difference;
  const [x, y] = [decimalOf(a), decimalOf(b)];
  if (x.sign !== y.sign) return x.sign - y.sign;
  const scale = Math.max(x.scale, y.scale);
  // Comparing numbers with such exponents exactly would take too many digits.
  if (scale - x.scale > 400 || scale - y.scale > 400) return 0;
  const [left, right] = [x, y].map(({ digits, scale: own }) => digits * 10n ** BigInt(scale - own));
  return x.sign * (left < right ? -1 : Number(left > right));
}

/** The sign, the digits, and how many of the digits are after the decimal point. */
function decimalOf(text) {
  const [, minus, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  const digits = BigInt(whole + fraction);
  return { sign: digits === 0n ? 0 : minus === "" ? 1 : -1, digits, scale: fraction.length - Number(exponent) };
}
