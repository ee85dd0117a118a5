import { z } from "zod";
import type { OptionRules, OptionValues } from "../../engines/connection-type.ts";
import { engine, remoteEngines } from "../../engines/index.ts";
import { describeInput, PlainScalar } from "../../params/validators/scalars.ts";
import { oneLine } from "../problem.ts";
import { unknownMessage } from "../suggest.ts";
import { isMapping, type Mapping } from "../tree.ts";
import { block, choice, fineDuration, flag, integer, PARSING, record, string } from "./blocks.ts";

const { connectionTypes } = engine;

const keys = {
  init: string.optional().describe("SQL that runs once before the first use."),
  type: choice(connectionTypes.map(({ type }) => type))
    .optional()
    .describe("Alternative to init, with its own options."),
  engine: choice(["duckdb", ...remoteEngines.map(({ name }) => name)])
    .prefault("duckdb")
    .describe("What runs the SQL of endpoints with this connection."),
  properties: record(string).prefault({}).describe("Readable in templates as conn.<key>."),
  "read-only": flag.prefault(false),
  lazy: flag.prefault(true).describe("If true, a data source that is down does not stop the service."),
  "connect-timeout": fineDuration.prefault("5s").describe("How long startup waits for the data source, if lazy."),
  "max-concurrency": integer({ min: 1 }).optional().describe("Queries at a time, across all endpoints."),
  "log-queries": flag.prefault(false),
  "log-parameters": flag.prefault(false),
};
/** The keys that every connection has. */
export const ownKeys = block(keys);

type Reject = (path: PropertyKey[], message: string) => void;

/** One connection. With `type` or `engine`, it may have the options of that type or engine. */
export const connection = z.unknown().transform((input, context) => {
  const reject: Reject = (path, message) => context.addIssue({ code: "custom", path, message });
  // `name:` without a value is a connection that needs no setup.
  const isEmpty = input instanceof PlainScalar && input.value === null;
  const written: unknown = isEmpty ? Object.create(null) : input;
  const { rest, options, known } = isMapping(written)
    ? splitOptions(written, reject)
    : { rest: written, options: {}, known: [] };
  const result = ownKeys.safeParse(rest, PARSING);
  if (result.success) return { ...result.data, options };
  for (const issue of result.error.issues) {
    if (issue.code !== "unrecognized_keys") reject([...issue.path], issue.message);
    else {
      const all = [...Object.keys(keys), ...known];
      const message = issue.keys.map((key) => oneLine(unknownMessage("key", key, all))).join("\n");
      context.addIssue({ ...issue, message });
    }
  }
  return z.NEVER;
});

export type ConnectionInput = z.output<typeof connection>;

interface Split {
  readonly rest: unknown;
  readonly options: Readonly<Record<string, string>>;
  readonly known: readonly string[];
}

function splitOptions(input: Mapping, reject: Reject): Split {
  const { type, engine: engineName } = input;
  const rules = rulesOf(type, engineName, reject);
  const isUnknown =
    rules === undefined && (type !== undefined || !(engineName === undefined || engineName === "duckdb"));
  const rest: Mapping = Object.create(null);
  const options: Record<string, string> = {};
  for (const [key, value] of Object.entries(input)) {
    // If the type is unknown, its options are not checked.
    if (Object.hasOwn(keys, key)) rest[key] = value;
    else if (rules?.options.includes(key) !== true) {
      if (!isUnknown) rest[key] = value;
    } else addOption(key, value, { allowed: rules.values?.[key], options, reject });
  }
  if (rules !== undefined) {
    rejectMissingOptions(rules, input, reject);
    rejectReplacedOptions(rules, input, reject);
  }
  return { rest, options, known: rules?.options ?? [] };
}

type NamedRules = OptionRules & { readonly owner: string };

/** The rules for the other keys of a connection. Undefined if there are none, or if the type or engine is unknown. */
function rulesOf(type: unknown, engineName: unknown, reject: Reject): NamedRules | undefined {
  const remote = remoteEngines.find(({ name }) => name === engineName);
  if (remote !== undefined) {
    if (type !== undefined)
      reject(["type"], `'type' is for connections that DuckDB opens; remove it, or remove 'engine'`);
    return { ...remote, owner: `engine '${remote.name}'` };
  }
  const known = connectionTypes.find((candidate) => candidate.type === type);
  return known && { ...known, owner: `type '${known.type}'` };
}

interface AddedOption {
  readonly allowed: OptionValues | undefined;
  readonly options: Record<string, string>;
  readonly reject: Reject;
}

function addOption(key: string, value: unknown, { allowed, options, reject }: AddedOption): void {
  if (allowed === "map" && isMapping(value)) {
    for (const [name, each] of Object.entries(value)) {
      addOption(`${key}.${name}`, each, {
        allowed: undefined,
        options,
        reject: ([, ...path], message) => reject([key, name, ...path], message),
      });
    }
    return;
  }
  const text = allowed === "list" && Array.isArray(value) ? listText(value) : scalarText(value);
  const problem = text === undefined ? "expected a string" : valueProblem(allowed, text);
  if (problem === undefined && text !== undefined) options[key] = text;
  else reject([key], `${problem}, found ${describeInput(value)}`);
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return value instanceof PlainScalar && value.source !== "" ? value.source : undefined;
}

function listText(values: readonly unknown[]): string | undefined {
  const texts = values.map(scalarText);
  return texts.includes(undefined) ? undefined : texts.join(",");
}

function valueProblem(allowed: OptionValues | undefined, text: string): string | undefined {
  switch (allowed) {
    case undefined:
    case "list":
      return undefined;
    case "map":
      return "expected a mapping";
    case "boolean":
      return /^(?:true|false|t|f|1|0)$/i.test(text) ? undefined : "expected true or false";
    case "integer":
      return /^\d+$/.test(text) ? undefined : "expected an integer";
    default:
      return allowed.includes(text.toLowerCase()) ? undefined : `expected one of ${allowed.join(", ")}`;
  }
}

function rejectMissingOptions({ owner, required }: NamedRules, input: Mapping, reject: Reject): void {
  for (const group of required) {
    if (group.some((option) => Object.hasOwn(input, option))) continue;
    reject([], `the ${owner} needs ${group.map((option) => `'${option}'`).join(" or ")}`);
  }
}

function rejectReplacedOptions({ replaces = {} }: OptionRules, input: Mapping, reject: Reject): void {
  for (const [option, others] of Object.entries(replaces)) {
    if (!Object.hasOwn(input, option)) continue;
    for (const other of others.filter((name) => Object.hasOwn(input, name)))
      reject([other], `'${other}' has no effect beside '${option}'; put it into '${option}', or remove '${option}'`);
  }
}
