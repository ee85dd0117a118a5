import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { expect, test } from "vitest";
import type { z } from "zod";
import { engine } from "../engines/index.ts";
import { validators, validatorTypes } from "../params/validators/index.ts";
import { PlainScalar } from "../params/validators/scalars.ts";
import { endpointRules, mainRules } from "./flapi-keys.ts";
import { endpointJsonSchema, mainJsonSchema } from "./json-schema.ts";
import { endpointSchema } from "./schema/endpoint.ts";
import { mainSchema } from "./schema/main.ts";

type Schema = Readonly<Record<string, unknown>>;

function validatorOf(schema: Schema): ValidateFunction {
  const ajv = new Ajv({ allErrors: true, strict: true, strictRequired: false, strictTypes: false });
  // A word of editors.
  return ajv.addKeyword("deprecationMessage").compile(schema);
}

/** As the loader reads YAML: what is not text keeps the characters it was written in. */
function asRead(value: unknown): unknown {
  if (value === null) return new PlainScalar(null, "");
  if (typeof value === "number" || typeof value === "boolean") return new PlainScalar(value, String(value));
  if (Array.isArray(value)) return value.map(asRead);
  if (typeof value !== "object") return value;
  return Object.assign(
    Object.create(null),
    Object.fromEntries(Object.entries(value).map(([key, each]) => [key, asRead(each)])),
  );
}

const probes = [
  ...[200, 201, 404, 500, "client-error", "one"],
  "x",
  "",
  " ",
  "5",
  "-5",
  "5m",
  "500ms",
  "5 m",
  "64MiB",
  "64 kb",
  "1ib",
  "true",
  "TRUE",
  "get",
  "2024-01-01",
  "12:00:00",
  "0.5",
  5,
  0,
  -1,
  70_000,
  3e6,
  1.5,
  true,
  null,
  [],
  ["a"],
  [5],
  [{}],
  {},
  { zzz: 1 },
  { a: "b" },
];

/** Paths to every key, by the schema itself: `*` for names of the author's choice, 0 for entries of a list. */
function* keysOf(schema: unknown, path: readonly (string | number)[]): Generator<readonly (string | number)[]> {
  if (typeof schema !== "object" || schema === null) return;
  const { properties, items, additionalProperties, deprecated } = schema as Schema;
  if (deprecated === true) return;
  if (path.length > 0) yield path;
  for (const [key, value] of Object.entries(properties ?? {})) yield* keysOf(value, [...path, key]);
  if (typeof items === "object") yield* keysOf(items, [...path, 0]);
  if (typeof additionalProperties === "object") yield* keysOf(additionalProperties, [...path, "name"]);
}

function documentWith(path: readonly (string | number)[], value: unknown): unknown {
  return path.reduceRight((inner: unknown, step) => (typeof step === "number" ? [inner] : { [step]: inner }), value);
}

const pointer = (path: readonly PropertyKey[]): string => path.map((step) => `/${String(step)}`).join("");
const isAt = (place: string, path: string): boolean => place === path || place.startsWith(`${path}/`);

interface Checked {
  readonly json: Schema;
  readonly validate: ValidateFunction;
  readonly zod: z.ZodType;
}

/** Values that only one of the two takes, at a path. */
function differences(
  { validate, zod }: Checked,
  documents: Iterable<readonly [at: string, document: unknown]>,
): string[] {
  const found: string[] = [];
  for (const [at, document] of documents) {
    validate(document);
    const bySchema = (validate.errors ?? []).some(({ instancePath }: ErrorObject) => isAt(instancePath, at));
    const issues = zod.safeParse(asRead(document)).error?.issues ?? [];
    const paths = issues.flatMap((issue) =>
      issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path, key]) : [issue.path],
    );
    const byLoader = paths.some((path) => isAt(pointer(path), at));
    if (bySchema !== byLoader)
      found.push(`${JSON.stringify(document)}: only the ${bySchema ? "schema" : "loader"} refuses`);
  }
  return found;
}

const checkedOf = (json: Schema, zod: z.ZodType): Checked => ({ json, validate: validatorOf(json), zod });
const main = checkedOf(mainJsonSchema(), mainSchema);
const endpoint = checkedOf(endpointJsonSchema(), endpointSchema);

test.each([
  ["main", main, 200],
  ["endpoint", endpoint, 100],
] as const)("every key of the %s file takes what the loader takes, and nothing else", (_, checked, count) => {
  const paths = [...keysOf(checked.json, [])];
  expect(paths.length).toBeGreaterThan(count);
  function* documents() {
    for (const path of paths) {
      // Of an entry that is wrong some say that their list is.
      const at = pointer(path.at(-1) === 0 ? path.slice(0, -1) : path);
      for (const probe of probes) yield [at, documentWith(path, probe)] as const;
    }
  }
  expect(differences(checked, documents())).toEqual([]);
});

test.each(validatorTypes)("every option of the validator %s, too", (type) => {
  const own = validators.find((validator) => validator.in.shape.type.value === type);
  const path = ["request", 0, "validators", 0];
  function* documents() {
    for (const option of [...Object.keys(own?.in.shape ?? {}), "zzz"]) {
      for (const probe of probes) {
        const options = type === "enum" ? { allowedValues: ["a"] } : {};
        yield [pointer(path), documentWith(path, { type, ...options, [option]: probe })] as const;
      }
    }
  }
  expect(differences(endpoint, documents())).toEqual([]);
});

test.each(engine.connectionTypes)("options of the connection type $type, too", ({ type, options }) => {
  const path = ["connections", "name"];
  const all = Object.fromEntries(options.map((option) => [option, "x"]));
  const others = new Set(engine.connectionTypes.flatMap((each) => each.options));
  function* documents() {
    yield [pointer(path), documentWith(path, { type })] as const;
    yield [pointer(path), documentWith(path, { ...all, type })] as const;
    yield [pointer(path), documentWith(path, all)] as const;
    for (const option of [...others, "zzz"])
      yield [pointer(path), documentWith(path, { type, ...all, [option]: "x" })] as const;
  }
  expect(differences(main, documents())).toEqual([]);
});

const rules = [
  ...mainRules.map((rule) => ["main", rule.kind, rule.at, main, rule] as const),
  ...endpointRules.map((rule) => ["endpoint", rule.kind, rule.at, endpoint, rule] as const),
];

test.each(rules)("a key of the %s file that is %s: %s", (_, kind, at, { validate }, rule) => {
  const steps = at
    .split(".")
    .map((step, index, all) => (step !== "*" ? step : all[index - 1] === "connections" ? "name" : 0));
  const parent = steps.slice(0, -1);
  const isKnown = (key: string): boolean => {
    // A validator is known by its type.
    const options = key.startsWith("allowed") ? { type: "enum", [key]: ["a"] } : { type: "int", [key]: "true" };
    validate(at.includes("validators") ? documentWith(parent, options) : documentWith([...parent, key], "x"));
    return !(validate.errors ?? []).some(({ params }: ErrorObject) => params["additionalProperty"] === key);
  };
  expect(isKnown(String(steps.at(-1)))).toBe(kind !== "mistake");
  if (rule.kind === "renamed") expect(isKnown(rule.to)).toBe(true);
});
