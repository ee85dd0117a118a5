import { z } from "zod";
import type { ConnectionType } from "../../engines/connection-type.ts";
import { engine } from "../../engines/index.ts";
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

/** One connection. With `type`, it may have the options of that type. */
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
  const { type: written } = input;
  const type = connectionTypes.find((candidate) => candidate.type === written);
  const rest: Mapping = Object.create(null);
  const options: Record<string, string> = {};
  for (const [key, value] of Object.entries(input)) {
    // If the type is unknown, its options are not checked.
    if (Object.hasOwn(keys, key)) rest[key] = value;
    else if (type?.options.includes(key) !== true) {
      if (type !== undefined || written === undefined) rest[key] = value;
    } else {
      const text = typeof value === "string" ? value : value instanceof PlainScalar ? value.source : "";
      const problem = text === "" && value !== "" ? "expected a string" : valueProblem(type.values?.[key], text);
      if (problem === undefined) options[key] = text;
      else reject([key], `${problem}, found ${describeInput(value)}`);
    }
  }
  if (type !== undefined) {
    rejectMissingOptions(type, input, reject);
    rejectReplacedOptions(type, input, reject);
  }
  return { rest, options, known: type?.options ?? [] };
}

function valueProblem(
  allowed: NonNullable<ConnectionType["values"]>[string] | undefined,
  text: string,
): string | undefined {
  switch (allowed) {
    case undefined:
      return undefined;
    case "boolean":
      return /^(?:true|false|t|f|1|0)$/i.test(text) ? undefined : "expected true or false";
    case "integer":
      return /^\d+$/.test(text) ? undefined : "expected an integer";
    default:
      return allowed.includes(text.toLowerCase()) ? undefined : `expected one of ${allowed.join(", ")}`;
  }
}

function rejectMissingOptions({ type, required }: ConnectionType, input: Mapping, reject: Reject): void {
  for (const group of required) {
    if (group.some((option) => Object.hasOwn(input, option))) continue;
    reject([], `the type '${type}' needs ${group.map((option) => `'${option}'`).join(" or ")}`);
  }
}

function rejectReplacedOptions({ replaces = {} }: ConnectionType, input: Mapping, reject: Reject): void {
  for (const [option, others] of Object.entries(replaces)) {
    if (!Object.hasOwn(input, option)) continue;
    for (const other of others.filter((name) => Object.hasOwn(input, name)))
      reject([other], `'${other}' has no effect beside '${option}'; put it into '${option}', or remove '${option}'`);
  }
}
