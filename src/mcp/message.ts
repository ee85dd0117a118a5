import type { RawValue } from "../params/parameter.ts";
import { membersOf, readMembers } from "../params/read-members.ts";
import { scanJson } from "../params/scan-json.ts";
import { runAtOnce, runInSlices, type Sliced } from "../slices.ts";
import type { JsonText } from "./mcp-service.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export type Arguments = ReadonlyMap<string, RawValue>;

/** One message from a client. `text` is its JSON as received, in which numbers keep all their digits. */
export type Message =
  | {
      readonly kind: "request";
      /** The ID to echo. */
      readonly id: JsonText;
      readonly method: string;
      readonly params: JsonObject | undefined;
      readonly text: string;
      /** The arguments of a long message. They are empty in its `text` and `params`. */
      readonly longArguments?: Arguments | undefined;
    }
  | {
      readonly kind: "notification";
      readonly method: string;
      readonly params: JsonObject | undefined;
      readonly text: string;
    }
  /** Ignored, because Eider sends no requests to clients. */
  | { readonly kind: "response" }
  | {
      readonly kind: "invalid";
      readonly id: JsonText | undefined;
      readonly problem: string;
      /** An invalid notification gets no response. */
      readonly isNotification: boolean;
    };

export type ParseResult =
  | { readonly kind: "not-json" }
  | { readonly kind: "one"; readonly message: Message }
  | { readonly kind: "batch"; readonly messages: readonly Message[] }
  | { readonly kind: "bad-batch"; readonly problem: string };

/** Each message gets a response, so a large batch would cause a far larger response. */
const MAX_BATCH = 100;
/** Messages up to this length are parsed whole. A longer one must not exceed it when its arguments are left out. */
const MAX_WHOLE = 64 * 1024;
/** The maximum number of arguments of a long message. */
const MAX_ARGUMENTS = 1_000;

/** Parses a message or a batch. A long one is parsed in slices. */
export function parseMessages(text: string): ParseResult | Promise<ParseResult> {
  return text.length <= MAX_WHOLE ? parseWhole(text) : runInSlices(parseSliced(text));
}

function parseWhole(text: string): ParseResult {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "not-json" };
  }
  return Array.isArray(value) ? runAtOnce(parseSliced(text)) : { kind: "one", message: readMessage(value, text) };
}

/** Parses a message of any length, or a batch. */
function* parseSliced(text: string): Sliced<ParseResult> {
  const entries: string[] = [];
  let count = 0;
  const kind = yield* scanJson(text, (start, end) => {
    if (count++ <= MAX_BATCH) entries.push(text.slice(start, end));
  });
  if (kind === undefined) return { kind: "not-json" };
  if (kind !== "array") return { kind: "one", message: yield* readText(text) };
  if (count === 0) return { kind: "bad-batch", problem: "Invalid Request: the batch is empty" };
  if (count > MAX_BATCH) {
    return { kind: "bad-batch", problem: `Invalid Request: the batch has more than ${MAX_BATCH} messages` };
  }
  const messages: Message[] = [];
  for (const entry of entries) messages.push(yield* readText(entry));
  return { kind: "batch", messages };
}

/** Reads a message from valid JSON. */
function* readText(text: string): Sliced<Message> {
  yield;
  if (text.length <= MAX_WHOLE) return readMessage(JSON.parse(text), text);
  const params = yield* memberIn(text, "params");
  const args = params && (yield* memberIn(params.text, "arguments"));
  const start = args && params.start + args.start;
  const isArgumentsObject = args?.text.startsWith("{") === true;
  // The method rejects arguments that are not an object.
  const rest =
    args && `${text.slice(0, start)}${isArgumentsObject ? "{}" : "[]"}${text.slice((start ?? 0) + args.text.length)}`;
  if (args === undefined || rest === undefined || rest.length > MAX_WHOLE) return yield* tooLong(text);
  const message = readMessage(JSON.parse(rest), rest);
  if (message.kind !== "request" || !isArgumentsObject) return message;
  const longArguments = new Map<string, RawValue>();
  yield* readMembers(args.text, longArguments, { wanted: NO_NAMES, maxOthers: MAX_ARGUMENTS + 1 });
  if (longArguments.size <= MAX_ARGUMENTS) return { ...message, longArguments };
  const problem = `Invalid Request: there are more than ${MAX_ARGUMENTS} arguments`;
  return { kind: "invalid", id: message.id, problem, isNotification: false };
}

const NO_NAMES: ReadonlySet<string> = new Set();
/** Longer IDs are not echoed. */
const MAX_ID = 1_024;

function* tooLong(text: string): Sliced<Message> {
  const id = yield* memberIn(text, "id");
  return {
    kind: "invalid",
    id: id === undefined || id.text.length > MAX_ID ? undefined : idText(JSON.parse(id.text), `{"id":${id.text}}`),
    problem: `Invalid Request: a message has at most ${MAX_WHOLE / 1024} KiB besides its arguments`,
    isNotification: false,
  };
}

/** The JSON of the last member with this name, and its start index. */
function* memberIn(text: string, name: string): Sliced<{ readonly text: string; readonly start: number } | undefined> {
  let found: { readonly text: string; readonly start: number } | undefined;
  yield* scanJson(text, (start, end, key) => {
    if (key === name) found = { text: text.slice(start, end), start };
  });
  return found;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readMessage(value: unknown, text: string): Message {
  if (!isObject(value)) {
    const problem = "Invalid Request: a message is a JSON object";
    return { kind: "invalid", id: undefined, problem, isNotification: false };
  }
  const { jsonrpc, method, params } = value;
  const hasId = Object.hasOwn(value, "id");
  const id = hasId ? idText(value["id"], text) : undefined;
  const isNotification = !hasId && typeof method === "string";
  const invalid = (what: string): Message => ({
    kind: "invalid",
    id,
    problem: `Invalid Request: ${what}`,
    isNotification,
  });
  if (hasId && id === undefined) return invalid("id must be a string or a number");
  if (jsonrpc !== "2.0") return invalid('jsonrpc must be "2.0"');
  if (method === undefined && id !== undefined && ("result" in value || "error" in value)) return { kind: "response" };
  if (typeof method !== "string") return invalid("method must be a string");
  if (params !== undefined && !isObject(params)) return invalid("params must be an object");
  if (id === undefined) return { kind: "notification", method, params, text };
  return { kind: "request", id, method, params, text };
}

/** An ID as received. Undefined if it is invalid. */
function idText(id: unknown, text: string): JsonText | undefined {
  return id === null ? "null" : idOrTokenText(id, text, ["id"]);
}

/** The JSON of an ID or token in a message. Equal IDs have equal JSON. */
export function idOrTokenText(value: unknown, text: string, path: readonly string[]): JsonText | undefined {
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "number" ? numberText(value, text, path) : undefined;
}

/** A number exactly as sent. JavaScript would round some, and write `1.0` as `1`. */
function numberText(value: number, text: string, path: readonly string[]): JsonText | undefined {
  const usual = `"${path.at(-1)}":${value}`;
  // The usual spelling, which needs no parsing. Another member with this spelling has the same value.
  if (Number.isSafeInteger(value) && (text.includes(`${usual},`) || text.includes(`${usual}}`))) return String(value);
  return rawMember(text, path)?.text;
}

/** The members of an object in a message. Numbers keep every digit. The path must lead to an object. */
export function rawMembers(text: string, path: readonly string[]): Arguments {
  const raw = path.length === 0 ? text : rawMember(text, path)?.text;
  return raw === undefined ? new Map() : membersOf(raw);
}

function rawMember(text: string, path: readonly string[]): RawValue | undefined {
  let found: RawValue | undefined = { kind: "json", text };
  for (const name of path) {
    found = membersOf(found.text).get(name);
    if (found === undefined) return undefined;
  }
  return found;
}
