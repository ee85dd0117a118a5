import { el, hiddenText, idPart, paragraphs } from "./dom.js";
import { choicesOf, limitsOf, textOf, typeLabel, typesOf } from "./schema.js";

const FORBIDDEN_HEADERS =
  /^(accept-charset|accept-encoding|access-control-.*|connection|content-length|cookie|date|dnt|expect|host|keep-alive|origin|referer|te|trailer|transfer-encoding|upgrade|via|proxy-.*|sec-.*)$/i;

/**
 * A parameter or a field of the body: what it is, and where its value is typed. A value that is not sent and an empty one
 * are two things to the service, so each has a switch; typing turns it on.
 */
export function fieldRow(document, field, { value, changed }) {
  const id = `field:${field.place}:${idPart(field.name)}`;
  const input = inputFor(field, id);
  input.value = value.text;
  const always = field.place === "path";
  const switched = el("input", { type: "checkbox", id: `${id}:sent`, class: "sent", title: "Send this one" });
  switched.checked = value.sent || always;

  const problem = el("p", { class: "problem", id: `${id}:problem`, role: "alert" });
  input.addEventListener("input", () => {
    value.text = input.value;
    // Emptied, it is not sent; the switch sends an empty text on purpose.
    value.sent = input.value !== "";
    switched.checked = value.sent || always;
    showProblem("");
    changed();
  });
  switched.addEventListener("change", () => {
    value.sent = switched.checked;
    showProblem("");
    changed();
  });

  function showProblem(message) {
    problem.textContent = message;
    row.classList.toggle("wrong", message !== "");
    if (message === "") input.removeAttribute("aria-invalid");
    else input.setAttribute("aria-invalid", "true");
  }

  const facts = factsOf(field);
  const row = el(
    "div",
    { class: field.deprecated ? "field deprecated" : "field" },
    el(
      "div",
      { class: "field-head" },
      !always && [el("label", { class: "hidden-text", for: switched.id }, `Send ${field.name}`), switched],
      el("label", { for: id, class: "field-name" }, field.name),
      el("span", { class: "type" }, typeLabel(document, field.schema)),
      field.required && el("span", { class: "required" }, "required"),
      field.deprecated && el("span", { class: "tag-old" }, "deprecated"),
    ),
    input,
    problem,
    el(
      "div",
      { class: "field-notes", id: `${id}:notes` },
      field.description !== "" && paragraphs(field.description),
      facts.length > 0 &&
        el(
          "ul",
          { class: "facts" },
          facts.map(([what, text]) => el("li", {}, what, el("code", {}, text))),
        ),
      field.place === "header" &&
        FORBIDDEN_HEADERS.test(field.name) &&
        el("p", { class: "hint" }, "Browsers do not let a page set this header; use a snippet."),
    ),
  );
  return { field, row, showProblem, focus: () => input.focus() };
}

/** What is known of a value besides its type, as pairs of words before and a text that is shown as code. */
function factsOf({ schema, example }) {
  const facts = [];
  if (schema.default !== undefined) facts.push(["Default ", textOf(schema.default)]);
  for (const limit of limitsOf(schema)) {
    const [, before, text] =
      /^(matches |at least |at most |exactly |more than |less than |a multiple of |)([\s\S]*)$/.exec(limit);
    facts.push([before.charAt(0).toUpperCase() + before.slice(1), text]);
  }
  const shown = example ?? schema.example ?? schema.examples?.[0];
  if (shown !== undefined) facts.push(["For example ", textOf(shown)]);
  return facts;
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
  const described = {
    id,
    "aria-describedby": `${id}:problem ${id}:notes`,
    "aria-required": required ? "true" : undefined,
  };
  const choices = choicesOf(schema);
  if (choices !== undefined) {
    const standard = schema.default === undefined ? undefined : textOf(schema.default);
    const none = standard === undefined ? "not sent" : `not sent: ${standard}`;
    return el(
      "select",
      described,
      el("option", { value: "" }, none),
      choices.filter((choice) => choice !== "").map((choice) => el("option", { value: choice }, choice)),
    );
  }
  const types = typesOf(schema);
  const isNumber = types.length > 0 && types.every((type) => type === "integer" || type === "number");
  const standard = schema.default === undefined ? PLACEHOLDERS[schema.format] : textOf(schema.default);
  const attributes = {
    ...described,
    placeholder: standard,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
  };
  const isLong =
    field.place === "body" && (types.length === 0 || types.some((type) => type === "object" || type === "array"));
  if (isLong)
    return el("textarea", { ...attributes, rows: "3", placeholder: types.includes("array") ? "[ … ]" : "JSON" });
  // Not type=number: it would drop what is no number before the service can say why, and round large ones.
  return el("input", { ...attributes, type: "text", inputmode: isNumber ? numericMode(types, schema) : undefined });
}

function numericMode(types, schema) {
  const mayBeNegative = !(Number(textOf(schema.minimum ?? "-1")) >= 0);
  // The number pads of telephones have no minus.
  if (mayBeNegative) return undefined;
  return types.includes("number") ? "decimal" : "numeric";
}

/** Fields under a heading, none when there are none. */
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
