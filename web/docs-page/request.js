import { isJson } from "./json-text.js";
import { typesOf } from "./schema.js";

/**
 * Converts a form to a request: `{ method, url, headers, body }`, with headers as pairs. `problems` lists the values that cannot
 * be sent, in the format of the service's own errors.
 */
export function requestOf(operation, form, { root, authorization }) {
  const problems = [];
  const value = (field) => form.values.get(fieldKey(field)) ?? { sent: false, text: "" };
  const paramsIn = (location) => operation.params.filter((param) => param.location === location);

  const path = operation.path.replace(/\{([^{}]*)\}/g, (whole, name) => {
    const param = paramsIn("path").find((each) => each.name === name);
    if (param === undefined) return whole;
    const { text } = value(param);
    if (text === "") problems.push({ field: name, location: "path", message: "A path parameter needs a value" });
    // Browsers and proxies resolve these as folders.
    if (text === "." || text === "..")
      problems.push({ field: name, location: "path", message: `A path cannot contain ${text}` });
    return text === "" ? whole : encode(text);
  });

  const query = paramsIn("query")
    .filter((param) => value(param).sent)
    .map((param) => `${encode(param.name)}=${encode(value(param).text)}`);

  const headers = [];
  for (const param of paramsIn("header")) {
    const { sent, text } = value(param);
    if (!sent) continue;
    if (isHeaderText(text)) headers.push([param.name, text]);
    else problems.push({ field: param.name, location: "header", message: "Headers accept Latin-1 characters only" });
  }
  if (authorization !== undefined) headers.push(["Authorization", authorization]);

  const body = operation.body && bodyOf(operation.body, form, value);
  if (body !== undefined) headers.push(["Content-Type", "application/json"]);

  const url = root.href.replace(/\/$/, "") + path + (query.length > 0 ? `?${query.join("&")}` : "");
  return { request: { method: operation.method, url, headers, body }, problems };
}

export const fieldKey = ({ location, name }) => `${location}:${name}`;

function encode(text) {
  return encodeURIComponent(text.toWellFormed?.() ?? text);
}

/** `fetch` accepts only Latin-1 without control characters. */
function isHeaderText(text) {
  return [...text].every((char) => {
    const code = char.codePointAt(0);
    return code === 9 || (code >= 32 && code !== 127 && code < 256);
  });
}

function bodyOf(body, form, value) {
  if (form.bodyMode === "text") return form.bodyText;
  return composeBody(body, value);
}

/** The body as JSON on several lines, from the fields that are sent. */
export function composeBody(body, value) {
  const sent = body.fields.filter((field) => value(field).sent);
  if (sent.length === 0) return "{}";
  const members = sent.map((field) => `  ${JSON.stringify(field.name)}: ${literalOf(field.schema, value(field).text)}`);
  return `{\n${members.join(",\n")}\n}`;
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The user's input as JSON, with all digits. A value of the wrong type is sent as a string, so that the service rejects it. */
function literalOf(schema, text) {
  const types = typesOf(schema);
  const takes = (...names) => types.length === 0 || types.some((type) => names.includes(type));
  if (types.length === 1 && types[0] === "string") return JSON.stringify(text);
  if (takes("integer", "number") && NUMBER.test(text)) return text;
  if (takes("boolean") && (text === "true" || text === "false")) return text;
  if (text === "null" && types.length !== 1) return text;
  if (takes("object", "array") && /^\s*[[{]/.test(text) && isJson(text)) return text.trim();
  return JSON.stringify(text);
}
