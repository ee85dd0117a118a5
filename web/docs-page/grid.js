import { copyButton, el } from "./dom.js";
import { indentedTokens, kindOf, readable } from "./json-text.js";
import { sortRows } from "./rows.js";

/** Additional rows above and below the visible ones, so that scrolling shows no gaps. */
const EXTRA_ROWS = 12;
const WIDEST_CHARACTERS = 44;
const WIDEST_DIGITS = 100;
const SHOWN_CHARACTERS = 200;
const PADDING_CHARACTERS = 4;

let gridCount = 0;

/**
 * A table of any length, which draws only the visible rows. The Tab key stops once, and arrow keys move between cells. The
 * selected cell is shown in full below. `first` is the number of the first row.
 */
export function gridOf({ columns, rows, first = 1, label }) {
  gridCount += 1;
  const id = `grid-${gridCount}`;
  let order = rows.map((row, index) => ({ row, index }));
  let sortOrder;
  let selected;
  /** The height of a row. An estimate until a row is drawn. */
  let lastRowHeight = 30;
  /** The drawn rows, by position. */
  const drawnRows = new Map();
  const [before, after] = [spacer(columns.length + 2), spacer(columns.length + 2)];
  const body = el("tbody", {}, before, after);
  const headers = columns.map((column, index) => headerOf(column, () => sortBy(index)));
  const table = el(
    "table",
    {
      role: "grid",
      class: "grid",
      tabindex: "0",
      "aria-label": label,
      "aria-rowcount": rows.length + 1,
      "aria-colcount": columns.length + 1,
    },
    el(
      "colgroup",
      {},
      el("col", { class: "number-col" }),
      columns.map(() => el("col")),
      el("col"),
    ),
    el(
      "thead",
      {},
      el(
        "tr",
        { "aria-rowindex": "1" },
        el("th", { scope: "col", class: "row-number" }, el("span", { "aria-label": "Row" }, "#")),
        headers,
        filler(),
      ),
    ),
    body,
  );
  const box = el("div", { class: "grid-box" }, table);
  const detail = el("div", { class: "cell-detail", hidden: true });
  const buttons = headers.map((head) => head.firstElementChild);
  buttons.forEach((button, index) => {
    button.tabIndex = index === 0 ? 0 : -1;
  });
  sizeColumns(table, { columns, rows, first });

  function headerOf({ name, type, isNumber }, onClick) {
    const button = el(
      "button",
      { type: "button", on: { click: onClick } },
      el("span", { class: "column-name" }, name),
      el("span", { class: "column-type" }, type),
    );
    button.title = `${name}: ${type}`;
    return el("th", { scope: "col", class: isNumber ? "is-number" : undefined, "aria-sort": "none" }, button);
  }

  /** Cycles through ascending, descending and original order. */
  function sortBy(column) {
    const steps = ["ascending", "descending", undefined];
    const before = sortOrder?.column === column ? sortOrder.direction : undefined;
    const direction = steps[(steps.indexOf(before) + 1) % steps.length];
    sortOrder = direction && { column, direction };
    order = sortOrder ? sortRows(rows, column, direction) : rows.map((row, index) => ({ row, index }));
    headers.forEach((head, index) =>
      head.setAttribute("aria-sort", index === sortOrder?.column ? sortOrder.direction : "none"),
    );
    selected = undefined;
    showDetail();
    redraw();
  }

  function rowHeight() {
    lastRowHeight = body.querySelector("tr.row")?.getBoundingClientRect().height || lastRowHeight;
    return lastRowHeight;
  }

  /** Draws the visible rows. Rows that stay visible keep their elements, so that no click is lost. */
  function draw() {
    const height = rowHeight();
    const visible = Math.ceil((box.clientHeight || 600) / height);
    const top = Math.min(Math.floor(box.scrollTop / height), Math.max(0, order.length - visible));
    const from = Math.max(0, top - EXTRA_ROWS);
    const to = Math.min(order.length, top + visible + EXTRA_ROWS);
    for (const [position, line] of drawnRows) {
      if (position >= from && position < to) continue;
      line.remove();
      drawnRows.delete(position);
    }
    let below = after;
    for (let position = to - 1; position >= from; position -= 1) {
      const line = drawnRows.get(position) ?? rowOf(position);
      if (!drawnRows.has(position)) below.before(line);
      drawnRows.set(position, line);
      below = line;
    }
    stretch(before, from * height);
    stretch(after, (order.length - to) * height);
  }

  function redraw() {
    for (const line of drawnRows.values()) line.remove();
    drawnRows.clear();
    draw();
  }

  function rowOf(position) {
    const { row, index } = order[position];
    const cells = columns.map(({ isNumber }, column) => {
      const cell = cellOf(row[column], isNumber);
      cell.id = `${id}-${position}-${column}`;
      if (selected?.row === position && selected.column === column) cell.setAttribute("aria-selected", "true");
      return cell;
    });
    return el(
      "tr",
      { class: "row", "aria-rowindex": position + 2, "data-position": position },
      el("th", { scope: "row", class: "row-number" }, first + index),
      cells,
      filler(),
    );
  }

  function select(row, column) {
    body.querySelector("[aria-selected]")?.removeAttribute("aria-selected");
    selected = { row: clamp(row, order.length), column: clamp(column, columns.length) };
    scrollToSelected();
    draw();
    const cell = document.getElementById(`${id}-${selected.row}-${selected.column}`);
    cell.setAttribute("aria-selected", "true");
    table.setAttribute("aria-activedescendant", cell.id);
    showDetail();
  }

  function scrollToSelected() {
    const height = rowHeight();
    const head = table.tHead.offsetHeight;
    const top = selected.row * height;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + height > box.scrollTop + box.clientHeight - head)
      box.scrollTop = top + height - box.clientHeight + head;
    const { offsetLeft, offsetWidth } = headers[selected.column];
    const pinned = table.tHead.rows[0].cells[0].offsetWidth;
    if (offsetLeft - pinned < box.scrollLeft) box.scrollLeft = offsetLeft - pinned;
    else if (offsetLeft + offsetWidth > box.scrollLeft + box.clientWidth)
      box.scrollLeft = offsetLeft + offsetWidth - box.clientWidth;
  }

  function showDetail() {
    detail.hidden = selected === undefined;
    if (selected === undefined) {
      table.removeAttribute("aria-activedescendant");
      return;
    }
    const { row, index } = order[selected.row];
    const { name, type } = columns[selected.column];
    const value = row[selected.column] ?? "null";
    const isNested = kindOf(value) === "object" || kindOf(value) === "array";
    const shown = isNested ? [...indentedTokens(value, 100_000)].map(({ text }) => text).join("") : readable(value);
    detail.replaceChildren(
      el(
        "div",
        { class: "detail-head" },
        el("strong", {}, name),
        el("span", { class: "type" }, type),
        el("span", { class: "muted" }, `row ${first + index}`),
        copyButton(() => readable(value), "Copy value"),
      ),
      value === "null"
        ? el("p", { class: "null" }, "NULL")
        : el("pre", { class: "code", tabindex: "0", "aria-label": `Value of ${name}` }, shown.slice(0, 100_000)),
    );
  }

  box.addEventListener("scroll", () => requestAnimationFrame(() => draw()), { passive: true });
  new ResizeObserver(() => draw()).observe(box);
  table.addEventListener("click", (event) => {
    const cell = event.target.closest("td[id]");
    const line = event.target.closest("tr.row");
    if (cell !== null && line !== null) select(Number(line.dataset.position), cell.cellIndex - 1);
  });
  // The Tab key also stops only once in the column headers. Arrow keys move between them.
  table.tHead.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    const button = buttons[to];
    if (at < 0 || button === undefined) return;
    event.preventDefault();
    buttons[at].tabIndex = -1;
    button.tabIndex = 0;
    button.focus();
  });
  table.addEventListener("keydown", (event) => {
    if (event.target !== table || order.length === 0 || columns.length === 0) return;
    const { row, column } = selected ?? { row: 0, column: 0 };
    const page = Math.max(1, Math.floor(box.clientHeight / rowHeight()) - 2);
    const steps = {
      ArrowDown: [selected ? row + 1 : 0, column],
      ArrowUp: [row - 1, column],
      ArrowRight: [row, selected ? column + 1 : 0],
      ArrowLeft: [row, column - 1],
      PageDown: [row + page, column],
      PageUp: [row - page, column],
      Home: event.ctrlKey ? [0, 0] : [row, 0],
      End: event.ctrlKey ? [order.length - 1, columns.length - 1] : [row, columns.length - 1],
    };
    if (Object.hasOwn(steps, event.key)) select(...steps[event.key]);
    else return;
    event.preventDefault();
  });

  draw();
  return el("div", { class: "grid-and-detail" }, box, detail);
}

/** Fills the space of the rows that are not drawn. */
function spacer(width) {
  return el("tr", { class: "spacer", "aria-hidden": "true", role: "presentation" }, el("td", { colspan: width }));
}

function stretch(line, height) {
  line.firstElementChild.style.height = `${height}px`;
  line.hidden = height === 0;
}

/** Fills the unused width of a wide window, so that the columns stay close together. */
const filler = () => el("td", { class: "filler", "aria-hidden": "true" });

const clamp = (value, length) => Math.min(Math.max(value, 0), length - 1);

/** The cell for a value. NULL looks different from text. Line breaks become symbols, and long text is shortened. */
function cellOf(value = "null", isNumber = false) {
  if (value === "null") return el("td", { class: isNumber ? "null is-number" : "null" }, "NULL");
  const kind = kindOf(value);
  const text = readable(value);
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  const lines = shown.split(/\r\n|\r|\n/);
  const parts = lines.flatMap((line, index) => (index === 0 ? [line] : [el("span", { class: "line-end" }, "⏎"), line]));
  return el("td", { class: isNumber ? "is-number" : `is-${kind}` }, parts);
}

/** Derives the widths from all values, so that they do not change while scrolling. */
function sizeColumns(table, { columns, rows, first }) {
  const widths = columns.map(({ name, type, isNumber }, index) => {
    const head = Math.min(Math.max(name.length + 2, type.length, 6), WIDEST_CHARACTERS);
    let width = 0;
    for (const row of rows) width = Math.max(width, (row[index] ?? "null").length);
    // Without all its digits, a number would be misread.
    const widest = isNumber ? WIDEST_DIGITS : WIDEST_CHARACTERS;
    return Math.max(head, Math.min(width, widest)) + PADDING_CHARACTERS;
  });
  const number = String(first + rows.length).length + PADDING_CHARACTERS;
  const cols = table.querySelectorAll("col");
  [number, ...widths].forEach((width, index) => {
    cols[index].style.width = `${width}ch`;
  });
  table.style.width = `${widths.reduce((sum, width) => sum + width, number)}ch`;
}
