import { el, hiddenText, idPart, paragraphs } from "./dom.js";
import { capitalize, choicesOf, limitsOf, textOf, typeLabel, typesOf } from "./schema.js";

const FORBIDDEN_HEADERS =
  /^(accept-charset|accept-encoding|access-control-.*|connection|content-length|cookie|date|dnt|expect|host|keep-alive|origin|referer|te|trailer|transfer-encoding|upgrade|via|proxy-.*|sec-.*)$/i;

/**
 * A parameter or body field, with its description and input. A checkbox distinguishes an empty value from one that is not
 * sent. Typing a value checks the box.
 */
export function fieldRow(document, field, { value, onChange }) {
  const id = `field:${field.location}:${idPart(field.name)}`;
  const input = inputFor(field, id);
  input.value = value.text;
  const isAlwaysSent = field.location === "path";
  const sentCheckbox = el("input", { type: "checkbox", id: `${id}:sent`, class: "sent", title: "Send this value" });
  sentCheckbox.checked = value.sent || isAlwaysSent;

  const problem = el("p", { class: "problem", id: `${id}:problem`, role: "alert" });
  input.addEventListener("input", () => {
    value.text = input.value;
    // An empty value is not sent, unless the user checks the box.
    value.sent = input.value !== "";
    sentCheckbox.checked = value.sent || isAlwaysSent;
    showProblem("");
    onChange();
  });
  sentCheckbox.addEventListener("change", () => {
    value.sent = sentCheckbox.checked;
    showProblem("");
    onChange();
  });

  function showProblem(message) {
    problem.textContent = message;
    row.classList.toggle("wrong", message !== "");
    if (message === "") input.removeAttribute("aria-invalid");
    else input.setAttribute("aria-invalid", "true");
  }

  const row = el(
    "div",
    { class: field.deprecated ? "field deprecated" : "field" },
    el(
      "div",
      { class: "field-head" },
      !isAlwaysSent && [
        el("label", { class: "hidden-text", for: sentCheckbox.id }, `Send ${field.name}`),
        sentCheckbox,
      ],
      el("label", { for: id, class: "field-name" }, field.name),
      el("span", { class: "type" }, typeLabel(document, field.schema)),
      field.required && el("span", { class: "required" }, "required"),
      field.deprecated && el("span", { class: "tag-old" }, "deprecated"),
    ),
    el(
      "div",
      { class: "field-input" },
      input,
      problem,
      el("div", { class: "notes", id: `${id}:notes` }, notesOf(field)),
    ),
  );
  return { field, row, showProblem, focus: () => input.focus() };
}

/** Facts about a value, besides its type. */
function notesOf({ schema, example, description, location, name }) {
  const facts = limitsOf(schema).map((limit) => el("li", {}, capitalize(limit)));
  if (schema.default !== undefined && choicesOf(schema) === undefined)
    facts.push(el("li", {}, "Default ", el("code", {}, textOf(schema.default))));
  if (schema.pattern !== undefined) facts.push(el("li", {}, "Matches ", el("code", {}, textOf(schema.pattern))));
  const shown = example ?? schema.example ?? schema.examples?.[0];
  if (shown !== undefined) facts.push(el("li", {}, "For example ", el("code", {}, textOf(shown))));
  if (location === "header" && FORBIDDEN_HEADERS.test(name)) {
    facts.push(el("li", {}, "Browsers do not let a page set this header; use a snippet."));
  }
  return [description !== "" && paragraphs(description), facts.length > 0 && el("ul", { class: "facts" }, facts)];
}

const PLACEHOLDERS = {
  date: "2026-01-31",
  time: "12:30:00",
  "date-time": "2026-01-31T12:30:00Z",
  uuid: "00000000-0000-0000-0000-000000000000",
  email: "name@example.com",
};

function inputFor(field, id) {
  const { schema, required } = field;
  const common = {
    id,
    "aria-describedby": `${id}:problem ${id}:notes`,
    "aria-required": required ? "true" : undefined,
  };
  const choices = choicesOf(schema);
  if (choices !== undefined) {
    const defaultText = schema.default === undefined ? undefined : textOf(schema.default);
    const none = defaultText === undefined ? "not sent" : `${defaultText} (default)`;
    return el(
      "select",
      common,
      el("option", { value: "" }, none),
      choices.filter((choice) => choice !== "").map((choice) => el("option", { value: choice }, choice)),
    );
  }
  const types = typesOf(schema);
  const isNumber = types.length > 0 && types.every((type) => type === "integer" || type === "number");
  const placeholder = schema.default === undefined ? PLACEHOLDERS[schema.format] : textOf(schema.default);
  const attributes = {
    ...common,
    placeholder,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
  };
  const takesJson = types.length === 0 || types.some((type) => type === "object" || type === "array");
  if (field.location === "body" && takesJson) {
    return el("textarea", { ...attributes, rows: "2", placeholder: types.length === 1 ? "JSON" : "Text or JSON" });
  }
  // Not type=number, which discards invalid input before the service can report it, and rounds large numbers.
  return el("input", { ...attributes, type: "text", inputmode: isNumber ? numericMode(types, schema) : undefined });
}

function numericMode(types, schema) {
  const mayBeNegative = !(Number(textOf(schema.minimum ?? "-1")) >= 0);
  // The numeric keyboards of phones have no minus key.
  if (mayBeNegative) return undefined;
  return types.includes("number") ? "decimal" : "numeric";
}

/** Fields with a heading. Undefined if there are none. */
export function fieldGroup(title, rows, extra) {
  if (rows.length === 0 && extra === undefined) return undefined;
  return el(
    "fieldset",
    { class: "group" },
    el("legend", {}, title, hiddenText(" parameters")),
    rows.map(({ row }) => row),
    extra,
  );
}
