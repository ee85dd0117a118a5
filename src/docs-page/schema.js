/** What a document says of parameters, bodies and answers, in words that fit beside a field. */

/** Whatever a `$ref` into the same document leads to. */
export function resolve(document, value) {
  let found = value;
  for (let hops = 0; hops < 20 && typeof found?.$ref === "string"; hops += 1) {
    if (!found.$ref.startsWith("#/")) return {};
    const path = found.$ref
      .slice(2)
      .split("/")
      .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
    found = path.reduce(
      (from, name) => (from !== undefined && Object.hasOwn(from, name) ? from[name] : undefined),
      document,
    );
  }
  return found ?? {};
}

/** The schema behind references and behind "this or null". */
export function schemaOf(document, schema) {
  const resolved = resolve(document, schema);
  const choices = (resolved.anyOf ?? resolved.oneOf)?.map((each) => resolve(document, each));
  if (choices === undefined) return resolved;
  const real = choices.filter((each) => each.type !== "null");
  if (real.length !== 1) return resolved;
  const { anyOf, oneOf, ...rest } = resolved;
  return { ...real[0], ...rest, nullable: real.length < choices.length };
}

/** The types that a schema names, without null. */
export function typesOf(schema) {
  const types = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
  return types.filter((type) => type !== "null");
}

function mayBeNull(schema) {
  return schema.nullable === true || (Array.isArray(schema.type) && schema.type.includes("null"));
}

/** A type in a word or two: the name in the database where the document tells it. */
export function typeLabel(document, given, depth = 0) {
  const schema = schemaOf(document, given);
  const named = schema["x-eider-type"] ?? schema["x-sql-type"];
  if (typeof named === "string") return named;
  const types = typesOf(schema);
  if (types.includes("array") && depth < 4) {
    return schema.items === undefined ? "array" : `array of ${typeLabel(document, schema.items, depth + 1)}`;
  }
  if (schema.enum !== undefined && types.length <= 1) return "enum";
  if (types.length === 0) return "any";
  return types.map((type) => (type === "string" && schema.format ? schema.format : type)).join(" or ");
}

/** A value of the document as text: the digits as they are written there. */
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

/** The values that may be chosen, or undefined when anything can be typed. */
export function choicesOf(schema) {
  if (schema.const !== undefined) return [textOf(schema.const)];
  if (Array.isArray(schema.enum)) return schema.enum.filter((value) => value !== null).map(textOf);
  const types = typesOf(schema);
  return types.length === 1 && types[0] === "boolean" ? ["true", "false"] : undefined;
}

/** Everything that limits a value, each as a short text. */
export function limitsOf(schema) {
  const limits = [
    between(schema.minimum, schema.maximum, (text) => text),
    schema.exclusiveMinimum !== undefined && `more than ${textOf(schema.exclusiveMinimum)}`,
    schema.exclusiveMaximum !== undefined && `less than ${textOf(schema.exclusiveMaximum)}`,
    schema.multipleOf !== undefined && `a multiple of ${textOf(schema.multipleOf)}`,
    between(schema.minLength, schema.maxLength, characters),
    between(schema.minItems, schema.maxItems, (text) => `${text} items`),
    between(schema["x-eider-minimum"], schema["x-eider-maximum"], (text) => text),
    schema.pattern !== undefined && `matches ${textOf(schema.pattern)}`,
  ];
  return limits.filter((limit) => typeof limit === "string");
}

const characters = (text) => `${text} ${text === "1" ? "character" : "characters"}`;

function between(low, high, unit) {
  if (low !== undefined && high !== undefined) {
    return textOf(low) === textOf(high) ? `exactly ${unit(textOf(low))}` : `${textOf(low)} to ${unit(textOf(high))}`;
  }
  if (low !== undefined) return `at least ${unit(textOf(low))}`;
  return high !== undefined && `at most ${unit(textOf(high))}`;
}

/** The fields of an object as lines of a tree: `{ depth, name, type, required, description, schema }`. */
export function* fieldsOf(document, given, depth = 0, seen = []) {
  const schema = schemaOf(document, given);
  if (typesOf(schema).includes("array") && schema.items !== undefined) {
    yield* fieldsOf(document, schema.items, depth, seen);
    return;
  }
  // A type that holds itself is shown once.
  if (schema.properties === undefined || seen.includes(schema.properties) || depth > 6) return;
  for (const [name, property] of Object.entries(schema.properties)) {
    const each = schemaOf(document, property);
    yield {
      depth,
      name,
      type: typeLabel(document, property),
      nullable: mayBeNull(each),
      required: schema.required?.includes(name) === true,
      description: typeof each.description === "string" ? each.description : "",
      schema: each,
    };
    yield* fieldsOf(document, property, depth + 1, [...seen, schema.properties]);
  }
}

/**
 * The columns of the rows that an answer carries: `{ name, type, isNumber }`, or undefined when it carries none. Rows
 * come as an array, or in the `data` of an envelope.
 */
export function columnsOf(document, given) {
  const schema = schemaOf(document, given);
  const rows = typesOf(schema).includes("array") ? schema : schemaOf(document, schema.properties?.data);
  if (!typesOf(rows).includes("array")) return undefined;
  const row = schemaOf(document, rows.items);
  return Object.entries(row.properties ?? {}).map(([name, property]) => {
    const types = typesOf(schemaOf(document, property));
    const isNumber = types.length > 0 && types.every((type) => type === "integer" || type === "number");
    return { name, type: typeLabel(document, property), isNumber };
  });
}
