import { isRequired, parameterSchema } from "../docs/parameter-schema.ts";
import { type Endpoint, undeclaredPageFields } from "../endpoint/endpoint.ts";
import { isPageField, pageFields } from "../params/page.ts";
import type { Parameter } from "../params/parameter.ts";
import { comment, literal, prose, typeKey } from "./source-text.ts";
import type { NumberMode } from "./value-type.ts";

/** The type of an endpoint's parameters. */
export function paramsType(endpoint: Endpoint, mode: NumberMode): string {
  const members = endpoint.parameters.map((parameter) => memberOf(parameter, endpoint, mode));
  const fields = undeclaredPageFields(endpoint);
  const page = fields.length === pageFields.length ? "PageParams" : `Pick<PageParams, ${fields.map(literal).join()}>`;
  const types = [...(members.length === 0 ? [] : [`{\n${members.join("")}}`]), ...(fields.length === 0 ? [] : [page])];
  return types.length === 0 ? "Record<string, never>" : types.join(" & ");
}

/** The fields that an error of this endpoint can name. */
export function fieldNames(endpoint: Endpoint): readonly string[] {
  const takesBody = endpoint.parameters.some((parameter) => parameter.in === "body");
  const names = [
    ...endpoint.parameters.map(({ name }) => name),
    ...undeclaredPageFields(endpoint),
    ...(takesBody ? ["body"] : []),
    ...(endpoint.operation.kind === "write" ? ["Idempotency-Key"] : []),
  ];
  return [...new Set(names)];
}

function memberOf(parameter: Parameter, endpoint: Endpoint, mode: NumberMode): string {
  const { name, description, default: defaultText } = parameter;
  const schema = parameterSchema(parameter, "all", ownRules(parameter, endpoint));
  const documentation = [
    ...(description === undefined ? [] : [prose(description)]),
    ...(defaultText === undefined ? [] : [`Default: \`${defaultText}\`.`]),
    ...rulesOf(schema),
  ].join(" ");
  const type = typeOf(parameter, schema, mode);
  const member = isRequired(parameter) ? `${typeKey(name)}: ${type}` : `${typeKey(name)}?: ${type} | undefined`;
  return `${comment([documentation], "  ")}  ${member};\n`;
}

/** Eider's own rules for a built-in parameter. */
function ownRules({ name }: Parameter, { operation }: Endpoint): { readonly type: string } | undefined {
  return isPageField(name) && operation.kind === "read" ? { type: "integer" } : undefined;
}

function rulesOf(schema: Readonly<Record<string, unknown>>): readonly string[] {
  const { minimum, maximum, minLength, maxLength, format } = schema;
  return [
    ...(minimum === undefined ? [] : [`At least ${minimum}.`]),
    ...(maximum === undefined ? [] : [`At most ${maximum}.`]),
    ...(minLength === undefined ? [] : [`At least ${minLength} characters.`]),
    ...(maxLength === undefined ? [] : [`At most ${maxLength} characters.`]),
    // All integers have 64 bits, so this need not be mentioned.
    ...(format === undefined || format === "int64" ? [] : [`Format: ${format}.`]),
  ];
}

function typeOf(parameter: Parameter, schema: Readonly<Record<string, unknown>>, mode: NumberMode): string {
  // The client reads rows from JSON only.
  if (parameter.name === "format" && parameter.in === "query") return literal("json");
  const values = schema["enum"];
  if (Array.isArray(values))
    return values.map((value) => (value === null ? "null" : literal(String(value)))).join(" | ");
  const types = [schema["type"]].flat();
  const named = types.length > 2 ? "JsonInput" : scalarType(types[0], mode);
  return types.includes("null") ? `${named} | null` : named;
}

/** Accepts the types of row values, so that clients can send values from rows as parameters. */
function scalarType(type: unknown, mode: NumberMode): string {
  switch (type) {
    case "integer":
      return mode === "string" ? "number | bigint | NumberText" : "number | bigint";
    case "number":
      return "number | bigint | NumberText";
    case "boolean":
      return "boolean";
    default:
      return "string";
  }
}
