import type { Parameter, Validator } from "../params/parameter.ts";
import { type JsonObject, joinPresent, withoutUnset } from "./json.ts";

/** Which validators of a parameter apply. With `validate-before-write: false`, only its enums, or none. */
export type AppliedValidators = "all" | "enums" | "none";

/** The schema of a body field without validators. The template gets objects and lists as JSON text. */
const ANY_VALUE: JsonObject = {
  type: ["string", "number", "boolean", "object", "array"],
  additionalProperties: true,
  items: {},
};

/** The rules of a parameter as JSON Schema. `builtIn`: Eider's own rules, for a name that it uses itself, such as `limit`. */
export function parameterSchema(parameter: Parameter, applied: AppliedValidators, builtIn?: JsonObject): JsonObject {
  const validators = validatorsIn(parameter, applied);
  const schema = schemaOf(validators, parameter, builtIn);
  const withDefault = addDefault(schema, parameter.default);
  return parameter.in === "body" && !isRequired(parameter) ? nullable(withDefault) : withDefault;
}

/** A parameter with a default is optional. */
export function isRequired({ required, default: defaultText }: Parameter): boolean {
  return required && defaultText === undefined;
}

function validatorsIn({ validators }: Parameter, applied: AppliedValidators): readonly Validator[] {
  switch (applied) {
    case "all":
      return validators;
    case "enums":
      return validators.filter(({ allowedValues }) => allowedValues !== undefined);
    case "none":
      return [];
  }
}

function schemaOf(validators: readonly Validator[], parameter: Parameter, builtIn: JsonObject | undefined): JsonObject {
  const list = validators.find(({ allowedValues }) => allowedValues !== undefined)?.allowedValues;
  if (list !== undefined) {
    // The other validators may reject some values of the list.
    const allowed = list.filter((text) => validators.every((validator) => validator.check(text).ok));
    const builtInValues = builtIn?.["enum"];
    return {
      type: "string",
      enum: Array.isArray(builtInValues) ? allowed.filter((text) => builtInValues.includes(text)) : allowed,
    };
  }
  const declared = validators.map(({ jsonSchema }) => jsonSchema);
  const [first, ...others] = builtIn === undefined ? declared : [builtIn, ...declared];
  if (first === undefined) return parameter.in === "body" ? ANY_VALUE : { type: "string", ...minLengthOf(parameter) };
  const merged = others.reduce(mergeRules, first);
  return merged["type"] === "string" ? mergeRules(merged, minLengthOf(parameter)) : merged;
}

/** Path segments are never empty. */
function minLengthOf({ in: location }: Parameter): JsonObject {
  return location === "path" ? { minLength: 1 } : {};
}

const LOWER_BOUNDS: ReadonlySet<string> = new Set(["minimum", "minLength"]);
const UPPER_BOUNDS: ReadonlySet<string> = new Set(["maximum", "maxLength"]);

/** Adds rules to a schema. Rules for a different type cannot be merged, so the description mentions them. */
function mergeRules(schema: JsonObject, rules: JsonObject): JsonObject {
  if (rules["type"] !== undefined && rules["type"] !== schema["type"]) {
    const { type, ...others } = rules;
    const words = Object.entries(others).map(([key, value]) => `${key} ${value}`);
    const rule = `Must also be a valid ${type}${words.length === 0 ? "" : ` (${words.join(", ")})`}`;
    return { ...schema, description: joinPresent([stringOrUndefined(schema["description"]), rule], ". ") };
  }
  const merged: Record<string, unknown> = { ...schema };
  const conflicting: JsonObject[] = [];
  for (const [key, value] of Object.entries(rules)) {
    const known = merged[key];
    if (known === undefined || known === value) merged[key] = value;
    else if (LOWER_BOUNDS.has(key)) merged[key] = Math.max(Number(known), Number(value));
    else if (UPPER_BOUNDS.has(key)) merged[key] = Math.min(Number(known), Number(value));
    else if (key === "description") merged[key] = `${known}; ${value}`;
    else conflicting.push({ [key]: value });
  }
  return conflicting.length === 0 ? merged : { ...merged, allOf: [...listOf(merged["allOf"]), ...conflicting] };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function stringOrUndefined(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Adds the default, converted to the type of the schema. If a JSON number cannot represent it, the description mentions it. */
function addDefault(schema: JsonObject, defaultText: string | undefined): JsonObject {
  if (defaultText === undefined) return schema;
  const value = typedDefault(schema["type"], defaultText);
  if (value !== undefined) return { ...schema, default: value };
  return withoutUnset({
    ...schema,
    description: joinPresent([stringOrUndefined(schema["description"]), `Default: ${defaultText}`], "; "),
  });
}

function typedDefault(type: unknown, defaultText: string): unknown {
  switch (type) {
    case "integer":
      return Number.isSafeInteger(Number(defaultText)) ? Number(defaultText) : undefined;
    case "number":
      return defaultText.replace(/[^0-9]/g, "").length <= 15 ? Number(defaultText) : undefined;
    case "boolean":
      return defaultText.toLowerCase() === "true";
    default:
      return defaultText;
  }
}

/** Allows JSON `null`, which counts as absent. */
function nullable(schema: JsonObject): JsonObject {
  const types = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]];
  const values = schema["enum"];
  return { ...schema, type: [...types, "null"], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}
