import { z } from "zod";
import type { OptionRules, OptionValues } from "../engines/connection-type.ts";
import { engine, remoteEngines } from "../engines/index.ts";
import { validators } from "../params/validators/index.ts";
import { type JsonSchema, SCALARS } from "../params/validators/scalars.ts";
import { endpointRules, mainRules } from "./flapi-keys.ts";
import type { KeyRule } from "./key-rules.ts";
import { connection, ownKeys } from "./schema/connections.ts";
import { endpointSchema, kindKeys } from "./schema/endpoint.ts";
import { mainSchema } from "./schema/main.ts";
import { validator } from "./schema/request.ts";
import { testFileSchema } from "./schema/test-file.ts";

/** The JSON Schema of the main file, for editors. Derived from the schema that the loader uses. */
export function mainJsonSchema(): JsonSchema {
  return fileSchema(mainSchema, mainRules, { title: "Eider: main file" });
}

/** The JSON Schema of an endpoint file. */
export function endpointJsonSchema(): JsonSchema {
  return fileSchema(endpointSchema, endpointRules, {
    title: "Eider: endpoint file",
    anyOf: kindKeys.map((kind) => ({ required: [kind] })),
  });
}

/** The JSON Schema of a file of endpoint tests. */
export function testFileJsonSchema(): JsonSchema {
  return fileSchema(testFileSchema, [], {
    title: "Eider: endpoint tests",
    oneOf: [{ required: ["endpoint"] }, { required: ["tool"] }],
  });
}

/** Every editor supports draft 7. */
const DIALECT = "http://json-schema.org/draft-07/schema#";

function fileSchema(schema: z.ZodType, rules: readonly KeyRule[], extra: JsonSchema): JsonSchema {
  const draft = schemaOf(schema);
  for (const rule of rules) applyRule(draft, rule);
  return { $schema: DIALECT, ...extra, ...withoutInclude(draft) };
}

type Draft = Record<string, unknown>;

/** An include may replace a list or a mapping. */
const INCLUDE = "^\\{\\{ *include";

function schemaOf(schema: z.ZodType): Draft {
  const draft: Draft = z.toJSONSchema(schema, {
    io: "input",
    target: "draft-7",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => rewrite(zodSchema, jsonSchema),
  });
  const { $schema: _, ...rest } = draft;
  return rest;
}

/** Connections and validators are parsed by code, so zod cannot derive their schemas. */
function rewrite(schema: z.core.$ZodTypes, draft: Draft): void {
  const { def } = schema._zod;
  if (schema === connection) replace(draft, connectionSchema());
  else if (schema === validator) {
    replace(draft, { anyOf: validators.map(({ in: each }) => withoutInclude(schemaOf(each))) });
  } else if (def.type === "object" || def.type === "record") {
    replace(draft, { ...draft, type: ["object", "string"], pattern: INCLUDE });
  } else if (def.type === "pipe" && "items" in draft && def.in._zod.def.type === "transform") {
    replace(draft, { ...draft, ...listForms(schema) });
  } else if (def.type === "prefault") describeDefault(draft);
}

/** Adds the default to the description, which editors show. Removes defaults of blocks and lists. */
function describeDefault(draft: Draft): void {
  const { default: value, description } = draft;
  if (typeof value === "object" || value === "") delete draft["default"];
  else draft["description"] = [description, `Default: ${value}.`].filter((part) => part !== undefined).join(" ");
}

/** A list may be empty or an include. Some lists may also be a single string. */
function listForms(schema: z.core.$ZodTypes): JsonSchema {
  return z.safeParse(schema, "text").success
    ? { type: ["array", "null", ...SCALARS], pattern: z.safeParse(schema, "").success ? "" : "\\S" }
    : { type: ["array", "null", "string"], pattern: INCLUDE };
}

/** A mapping that an include cannot replace. */
function withoutInclude({ pattern: _, ...draft }: Draft): Draft {
  return { ...draft, type: "object" };
}

function replace(draft: Draft, by: JsonSchema): void {
  const { description } = draft;
  for (const key of Object.keys(draft)) delete draft[key];
  Object.assign(draft, by, description === undefined ? {} : { description });
}

/** A connection has its own keys, and the options of its type. */
function connectionSchema(): JsonSchema {
  const kinds = [
    ...engine.connectionTypes.map(({ type, ...rules }) => ({ key: "type", value: type, ...rules })),
    ...remoteEngines.map(({ name, ...rules }) => ({ key: "engine", value: name, ...rules })),
  ];
  const { properties: own } = schemaOf(ownKeys);
  const options = new Set(kinds.flatMap((kind) => kind.options));
  return {
    type: ["object", "null", "string"],
    pattern: INCLUDE,
    properties: {
      ...(isDraft(own) ? own : {}),
      ...Object.fromEntries([...options].map((option) => [option, { type: [...SCALARS, "array", "object"] }])),
    },
    additionalProperties: false,
    allOf: [
      implies({ not: { anyOf: [{ required: ["type"] }, { required: ["engine"] }] } }, forbidOtherOptions(options, [])),
      ...kinds.map(({ key, value, options: known, required, replaces = {}, values = {} }) => {
        const allowed = [forbidOtherOptions(options, known), allowValues(known, values)];
        const together = Object.entries(replaces).map(([option, others]) =>
          implies({ required: [option] }, { properties: Object.fromEntries(others.map((other) => [other, false])) }),
        );
        return implies(
          { required: [key], properties: { [key]: { const: value } } },
          { allOf: [...allowed, ...together, ...required.map(atLeastOneOf)] },
        );
      }),
    ],
  };
}

/** As the loader checks them. */
function allowValues(options: readonly string[], values: NonNullable<OptionRules["values"]>): JsonSchema {
  return { properties: Object.fromEntries(options.map((option) => [option, valueSchema(values[option])])) };
}

function valueSchema(allowed: OptionValues | undefined): JsonSchema {
  switch (allowed) {
    case undefined:
      return { type: SCALARS };
    case "list":
      return { type: [...SCALARS, "array"], items: { type: SCALARS } };
    case "map":
      return { type: "object", additionalProperties: { type: SCALARS } };
    case "boolean":
      return {
        anyOf: [
          { type: "boolean" },
          { enum: [0, 1] },
          { type: "string", pattern: "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|[TtFf01])$" },
        ],
      };
    case "integer":
      return {
        anyOf: [
          { type: "integer", minimum: 0 },
          { type: "string", pattern: "^[0-9]+$" },
        ],
      };
    default:
      return { enum: allowed };
  }
}

function atLeastOneOf(group: readonly string[]): JsonSchema {
  return { anyOf: group.map((option) => ({ required: [option] })) };
}

function implies(condition: JsonSchema, consequence: JsonSchema): JsonSchema {
  return { anyOf: [{ type: ["null", "string"] }, { not: condition }, consequence] };
}

/** Forbids the options of other types. */
function forbidOtherOptions(options: ReadonlySet<string>, known: readonly string[]): JsonSchema {
  const others = [...options].filter((option) => !known.includes(option));
  return { properties: Object.fromEntries(others.map((option) => [option, false])) };
}

/** Marks keys of flAPI and other spellings as deprecated. Mistakes and renamed values stay invalid. */
function applyRule(root: Draft, rule: KeyRule): void {
  if (rule.kind === "mistake" || rule.kind === "renamed-value") return;
  const steps = rule.at.split(".");
  const key = steps.pop() ?? "";
  for (const parent of steps.reduce((found, step) => found.flatMap((each) => below(each, step)), [root])) {
    const properties = parent["properties"];
    if (!isDraft(properties)) continue;
    const target = rule.kind === "renamed" ? properties[rule.to] : undefined;
    if (rule.kind === "renamed" && !isDraft(target)) continue;
    if (rule.kind === "renamed") allowEither(parent, rule.to, key);
    const note = rule.kind === "renamed" ? `Write '${rule.to}'.` : `Ignored; ${rule.why}.`;
    // YAML editors show `deprecationMessage`.
    properties[key] = {
      ...(isDraft(target) ? target : {}),
      description: note,
      deprecated: true,
      deprecationMessage: note,
    };
  }
}

/** Allows a required key under its other name. */
function allowEither(parent: Draft, key: string, other: string): void {
  const { required, allOf } = parent;
  if (!Array.isArray(required) || !required.includes(key)) return;
  parent["required"] = required.filter((name) => name !== key);
  parent["allOf"] = [...(Array.isArray(allOf) ? allOf : []), atLeastOneOf([key, other])];
}

/** The schemas of a key, or of all entries for `*`. */
function below(schema: Draft, step: string): readonly Draft[] {
  const { anyOf, items, additionalProperties, properties } = schema;
  const alternatives = Array.isArray(anyOf) ? anyOf.filter(isDraft).flatMap((each) => below(each, step)) : [];
  const own =
    step === "*" ? [items, additionalProperties].flatMap(unfold) : [isDraft(properties) ? properties[step] : undefined];
  return [...alternatives, ...own.filter(isDraft)];
}

/** A rule about list entries applies to each alternative. */
function unfold(schema: unknown): readonly unknown[] {
  return isDraft(schema) && Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [schema];
}

function isDraft(value: unknown): value is Draft {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
