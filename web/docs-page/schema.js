/** Derives short descriptions from the schemas of parameters, bodies and responses. */

/** Resolves a `$ref` in the same document. Keys next to the reference override those of its target. */
export function resolve(document, value) {
  let found = value ?? {};
  for (let hops = 0; hops < 20 && typeof found.$ref === "string"; hops += 1) {
    const { $ref, ...beside } = found;
    found = { ...targetOf(document, $ref), ...beside };
  }
  return found;
}

function targetOf(document, reference) {
  if (!reference.startsWith("#/")) return {};
  let found = document;
  for (const part of reference.slice(2).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return {};
    found = found[name];
  }
  return found;
}

/** The alternatives of a schema, if it has some. */
function alternativesOf(schema) {
  const alternatives = schema.anyOf ?? schema.oneOf;
  return Array.isArray(alternatives) ? alternatives : undefined;
}

/** Resolves references, and removes null from alternatives. */
export function schemaOf(document, schema) {
  const resolved = resolve(document, schema);
  const real = alternativesOf(resolved)
    ?.map((each) => resolve(document, each))
    .filter((each) => each.type !== "null");
  if (real?.length !== 1) return resolved;
  const { anyOf, oneOf, ...beside } = resolved;
  return { ...real[0], ...beside };
}

/** The types of a schema, without null. */
export function typesOf(schema) {
  const types = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
  return types.filter((type) => type !== "null");
}

/** A short name for the type of a schema. The name of the SQL type, if known. */
export function typeLabel(document, given, depth = 0) {
  const schema = schemaOf(document, given);
  if (typeof schema["x-sql-type"] === "string") return schema["x-sql-type"];
  const types = typesOf(schema);
  if (schema.enum !== undefined && types.length <= 1) return "enum";
  if (types.length === 0 || types.length > 3) return alternativesLabel(document, schema, depth) ?? "any";
  return types.map((type) => nameOf(type, schema, document, depth)).join(" or ");
}

function nameOf(type, schema, document, depth) {
  if (type !== "array") return type === "string" && schema.format ? schema.format : type;
  return schema.items === undefined || depth > 3 ? "array" : `array of ${typeLabel(document, schema.items, depth + 1)}`;
}

function alternativesLabel(document, schema, depth) {
  const labels = depth > 3 ? undefined : alternativesOf(schema)?.map((each) => typeLabel(document, each, depth + 1));
  return labels && [...new Set(labels)].join(" or ");
}

/** A value of the document as text, with all its digits. */
export function textOf(value) {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && Object.keys(value).join() === "digits") return value.digits;
  if (typeof value !== "object") return String(value);
  return jsonOf(value);
}

function jsonOf(value) {
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Object.keys(value).join() === "digits") return value.digits;
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${jsonOf(member)}`);
  return `{${members.join(", ")}}`;
}

/** The allowed values. Undefined if the schema does not list them. */
export function choicesOf(schema) {
  if (schema.const !== undefined) return [textOf(schema.const)];
  if (Array.isArray(schema.enum)) return schema.enum.filter((value) => value !== null).map(textOf);
  const types = typesOf(schema);
  return types.length === 1 && types[0] === "boolean" ? ["true", "false"] : undefined;
}

/** The limits of a value, as short phrases. */
export function limitsOf(schema) {
  const limits = [
    // The largest safe integer is a technical limit, not a limit of the endpoint.
    between(schema.minimum, schema.maximum === Number.MAX_SAFE_INTEGER ? undefined : schema.maximum, (text) => text),
    schema.exclusiveMinimum !== undefined && `more than ${textOf(schema.exclusiveMinimum)}`,
    schema.exclusiveMaximum !== undefined && `less than ${textOf(schema.exclusiveMaximum)}`,
    schema.multipleOf !== undefined && `a multiple of ${textOf(schema.multipleOf)}`,
    between(schema.minLength, schema.maxLength, withUnit("character")),
    between(schema.minItems, schema.maxItems, withUnit("item")),
  ];
  return limits.filter((limit) => typeof limit === "string");
}

export const capitalize = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const withUnit = (unit) => (text) => `${text} ${unit}${text === "1" ? "" : "s"}`;

function between(low, high, unit) {
  if (low !== undefined && high !== undefined) {
    return textOf(low) === textOf(high) ? `exactly ${unit(textOf(low))}` : `${textOf(low)} to ${unit(textOf(high))}`;
  }
  if (low !== undefined) return `at least ${unit(textOf(low))}`;
  return high !== undefined && `at most ${unit(textOf(high))}`;
}

/** The nested fields of an object, as `{ depth, name, type, required, description, schema }`. */
export function* fieldsOf(document, given, depth = 0, seen = []) {
  const schema = schemaOf(document, given);
  if (typesOf(schema).includes("array") && schema.items !== undefined) {
    yield* fieldsOf(document, schema.items, depth, seen);
    return;
  }
  const alternatives = depth > 6 ? undefined : alternativesOf(schema);
  for (const each of alternatives ?? []) yield* fieldsOf(document, each, depth, seen);
  // A recursive type is shown once.
  if (schema.properties === undefined || seen.includes(schema.properties) || depth > 6) return;
  for (const [name, property] of Object.entries(schema.properties)) {
    const each = schemaOf(document, property);
    yield {
      depth,
      name,
      type: typeLabel(document, property),
      required: schema.required?.includes(name) === true,
      description: descriptionOf(property, each),
      schema: each,
    };
    yield* fieldsOf(document, property, depth + 1, [...seen, schema.properties]);
  }
}

/** The description of a column itself, without that of its type, which would be repeated. */
function descriptionOf(property, schema) {
  const { description } = schema["x-sql-type"] === undefined ? schema : property;
  return typeof description === "string" ? description : "";
}

/**
 * The columns of the rows in a response, as `{ name, type, isNumber }`. Undefined if it has no rows. Rows are an array, or in
 * the `data` of an envelope. `singleRowIn` is where the only row of a response is: "body" or "data".
 */
export function columnsOf(document, given, singleRowIn) {
  const schema = schemaOf(document, given);
  const row =
    singleRowIn === undefined
      ? rowOf(document, schema)
      : schemaOf(document, singleRowIn === "body" ? given : schema.properties?.data);
  if (row === undefined) return undefined;
  return Object.entries(row.properties ?? {}).map(([name, property]) => {
    const types = typesOf(schemaOf(document, property));
    const isNumber = types.length > 0 && types.every((type) => type === "integer" || type === "number");
    return { name, type: typeLabel(document, property), isNumber };
  });
}

function rowOf(document, schema) {
  const rows = typesOf(schema).includes("array") ? schema : schemaOf(document, schema.properties?.data);
  return typesOf(rows).includes("array") ? schemaOf(document, rows.items) : undefined;
}
