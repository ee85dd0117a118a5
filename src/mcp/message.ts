import type { RawValue } from "../params/parameter.ts";
import { scanObject } from "../params/scan-object.ts";
import type { JsonText } from "./mcp-service.ts";
import { splitArray } from "./split-array.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** One message of a client. `text` is its JSON as it came: numbers in it have all their digits. */
export type Message =
  | {
      readonly kind: "request";
      /** As it is echoed. */
      readonly id: JsonText;
      readonly method: string;
      readonly params: JsonObject | undefined;
      readonly text: string;
    }
  | {
      readonly kind: "notification";
      readonly method: string;
      readonly params: JsonObject | undefined;
      readonly text: string;
    }
  /** An answer to something that we never asked. */
  | { readonly kind: "response" }
  | {
      readonly kind: "invalid";
      readonly id: JsonText | undefined;
      readonly problem: string;
      /** It wants no answer, whatever is wrong with it. */
      readonly isNotification: boolean;
    };

export type Parsed =
  | { readonly kind: "not-json" }
  | { readonly kind: "one"; readonly message: Message }
  | { readonly kind: "batch"; readonly messages: readonly Message[] }
  | { readonly kind: "bad-batch"; readonly problem: string };

/** Each entry costs an answer: a body full of them must not become a far larger one. */
const MAX_BATCH = 100;

export function parseMessages(text: string): Parsed {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "not-json" };
  }
  if (!Array.isArray(value)) return { kind: "one", message: readMessage(value, text) };
  if (value.length === 0) return { kind: "bad-batch", problem: "Invalid Request: the batch is empty" };
  if (value.length > MAX_BATCH) {
    return { kind: "bad-batch", problem: `Invalid Request: the batch has more than ${MAX_BATCH} messages` };
  }
  const texts = splitArray(text);
  return { kind: "batch", messages: value.map((entry, index) => readMessage(entry, texts[index] ?? "")) };
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
  if (hasId && id === undefined) return invalid("id must be a text or a number");
  if (jsonrpc !== "2.0") return invalid('jsonrpc must be "2.0"');
  if (method === undefined && id !== undefined && ("result" in value || "error" in value)) return { kind: "response" };
  if (typeof method !== "string") return invalid("method must be a text");
  if (params !== undefined && !isObject(params)) return invalid("params must be an object");
  if (id === undefined) return { kind: "notification", method, params, text };
  return { kind: "request", id, method, params, text };
}

/** An id as it came. Undefined when it is none. */
function idText(id: unknown, text: string): JsonText | undefined {
  return id === null ? "null" : keyText(id, text, ["id"]);
}

/** An id or a token inside of a message, by its path: the same text for the same one. */
export function keyText(value: unknown, text: string, path: readonly string[]): JsonText | undefined {
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "number" ? numberText(value, text, path) : undefined;
}

/** A number to the letter: JavaScript would round some, and write `1.0` as `1`. */
function numberText(value: number, text: string, path: readonly string[]): JsonText | undefined {
  const usual = `"${path.at(-1)}":${value}`;
  // As nearly every client writes it; whatever else is written so has the same value.
  if (Number.isSafeInteger(value) && (text.includes(`${usual},`) || text.includes(`${usual}}`))) return String(value);
  return rawMember(text, path)?.text;
}

/** The members of an object inside of a message, with every digit. The path is known to lead to one. */
export function rawMembers(text: string, path: readonly string[]): ReadonlyMap<string, RawValue> {
  const members = new Map<string, RawValue>();
  const raw = path.length === 0 ? text : rawMember(text, path)?.text;
  if (raw !== undefined) scanObject(raw, members);
  return members;
}

function rawMember(text: string, path: readonly string[]): RawValue | undefined {
  let found: RawValue | undefined = { kind: "json", text };
  for (const name of path) {
    const members = new Map<string, RawValue>();
    scanObject(found.text, members);
    found = members.get(name);
    if (found === undefined) return undefined;
  }
  return found;
}
