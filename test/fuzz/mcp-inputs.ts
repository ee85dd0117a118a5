import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { MODERN_META, TASKS_META } from "../mcp-server.ts";
import { mutations } from "./mutate.ts";
import { words } from "./words.ts";

const mcpWords: Readonly<Record<"methods" | "names" | "uris" | "ids" | "headers" | "json", readonly string[]>> =
  JSON.parse(readFileSync(join(import.meta.dirname, "mcp-words.json"), "utf8"));

/**
 * One request to the listener of MCP. `@SESSION@` and `@TASK@` stand for ids that the program gave out, and there are names
 * for long texts.
 */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, with one character for each byte. */
  readonly bytes: string;
  /** How it ends: as announced, or before, by a client that goes or one that still listens. */
  readonly end: "whole" | "reset" | "endSending";
}

const some = (list: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...list);
const json = fc.jsonValue({ maxDepth: 2 });

function rarely<T, Nil>(arbitrary: fc.Arbitrary<T>, otherwise: Nil): fc.Arbitrary<T | Nil> {
  return fc.oneof({ arbitrary, weight: 1 }, { arbitrary: fc.constant(otherwise), weight: 40 });
}

const DEPTH = 20_000;
/** What is too long to be written down. */
export const longTexts: Readonly<Record<string, string>> = {
  "@LISTS@": `${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}`,
  "@OBJECTS@": `${'{"a":'.repeat(DEPTH)}1${"}".repeat(DEPTH)}`,
  "@DASHES@": "-".repeat(1 << 18),
};
const deep = some(["@LISTS@", "@OBJECTS@"]);
const id = fc.oneof({ arbitrary: some(mcpWords.ids), weight: 6 }, fc.constant("9".repeat(3_000)), json.map(text));
const method = fc.oneof({ arbitrary: some(mcpWords.methods), weight: 12 }, fc.string());
const name = fc.oneof({ arbitrary: some(mcpWords.names), weight: 9 }, fc.string({ unit: "binary" }));
const uri = fc.oneof({ arbitrary: some(mcpWords.uris), weight: 9 }, fc.string({ unit: "binary" }));

function text(value: unknown): string {
  return JSON.stringify(value);
}

const meta = fc.oneof(
  { arbitrary: fc.constantFrom<object>(MODERN_META, TASKS_META), weight: 6 },
  fc
    .tuple(
      fc.record(
        {
          progressToken: json,
          traceparent: json,
          "io.modelcontextprotocol/logLevel": fc.oneof(fc.constantFrom("debug", "error"), json),
        },
        { requiredKeys: [] },
      ),
      fc.constantFrom({}, MODERN_META),
    )
    .map(([mine, theirs]): object => ({ ...mine, ...theirs })),
  fc.dictionary(some(Object.keys(MODERN_META)), json, { noNullPrototype: true }),
  json,
);

/** Something of the right shape, or whatever else. */
function mostly<T>(arbitrary: fc.Arbitrary<T>, otherwise: fc.Arbitrary<unknown> = json): fc.Arbitrary<unknown> {
  return fc.oneof<fc.MaybeWeightedArbitrary<unknown>[]>({ arbitrary, weight: 6 }, { arbitrary: otherwise, weight: 1 });
}

const args = mostly(
  fc.dictionary(
    mostly(some(["b", "c"]), some(["id", "q", "v", "limit", "__proto__", ""])) as fc.Arbitrary<string>,
    json,
    {
      maxKeys: 3,
      noNullPrototype: true,
    },
  ),
);

const paramsObject = fc.record(
  {
    name,
    uri,
    taskId: mostly(fc.constant("@TASK@")),
    cursor: fc.oneof(fc.string(), json),
    arguments: args,
    ref: mostly(fc.record({ type: some(["ref/prompt", "ref/resource"]), name: fc.constant("letter"), uri })),
    argument: mostly(fc.record({ name: fc.constant("c"), value: fc.string() })),
    context: json,
    requestId: json,
    level: mostly(fc.constant("debug")),
    protocolVersion: json,
    notifications: mostly(
      fc.record(
        { toolsListChanged: json, resourceSubscriptions: mostly(fc.array(uri)), taskIds: json },
        { requiredKeys: ["toolsListChanged"] },
      ),
    ),
  },
  { requiredKeys: ["name", "uri", "taskId", "ref", "argument", "level", "notifications"] },
);

/** A message and the headers that repeat it. */
interface Message {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Parts {
  readonly id: string | undefined;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly meta: unknown;
  readonly nested: string | undefined;
}

const message: fc.Arbitrary<Message> = fc
  .record({
    id: fc.option(id, { nil: undefined, freq: 6 }),
    method,
    params: paramsObject,
    meta: fc.option(meta, { nil: undefined, freq: 3 }),
    nested: rarely(deep, undefined),
  })
  .map(messageOf);

function messageOf({ id: known, method: called, params, meta: given, nested }: Parts): Message {
  const named = called.startsWith("resources/")
    ? params["uri"]
    : params[called.startsWith("tasks/") ? "taskId" : "name"];
  const whole = text(given === undefined ? params : { ...params, _meta: given });
  const inner = nested === undefined ? whole : whole.replace(/\}$/, `,"arguments":{"b":${nested}}}`);
  const isModern = text(given ?? null).includes("protocolVersion");
  return {
    body: `{"jsonrpc":"2.0",${known === undefined ? "" : `"id":${known},`}"method":${text(called)},"params":${inner}}`,
    headers: isModern
      ? { "mcp-protocol-version": "2026-07-28", "mcp-method": inHeader(called), "mcp-name": inHeader(String(named)) }
      : {},
  };
}

/** What a header cannot carry comes in base64. */
function inHeader(value: string): string {
  const isPlain = /^[!-~]+$/.test(value) && !value.startsWith("=?");
  return isPlain ? value : `=?base64?${Buffer.from(value).toString("base64")}?=`;
}

const several = fc
  .array(fc.oneof({ arbitrary: message.map(({ body }) => body), weight: 5 }, json.map(text)), { maxLength: 5 })
  .map((bodies): Message => ({ body: `[${bodies.join(",")}]`, headers: {} }));

const pieces = [...words.json, ...mcpWords.json, ...mcpWords.ids];
const mutated = fc
  .oneof(message, several)
  .chain(({ body: sound, headers }) =>
    mutations(fc.constant(sound), pieces).map((changed): Message => ({ body: changed, headers })),
  );

const latin1 = (value: string): string => Buffer.from(value, "utf8").toString("latin1");

const body = fc.oneof(
  { arbitrary: message, weight: 6 },
  { arbitrary: several, weight: 2 },
  { arbitrary: mutated, weight: 2 },
  json.map((value): Message => ({ body: text(value), headers: {} })),
  rarely(deep, "").map((value): Message => ({ body: value, headers: {} })),
);

const extra = fc.oneof(
  { arbitrary: fc.constant({}), weight: 4 },
  fc.dictionary(
    fc.constantFrom(
      "mcp-protocol-version",
      "mcp-method",
      "mcp-name",
      "mcp-session-id",
      "accept",
      "content-type",
      "origin",
      "last-event-id",
      "authorization",
    ),
    some(mcpWords.headers),
    { maxKeys: 3, noNullPrototype: true },
  ),
);

const one: fc.Arbitrary<Asked> = fc
  .record({
    body,
    extra,
    session: fc.boolean(),
    accept: fc.constantFrom("application/json, text/event-stream", "application/json", "*/*"),
    method: fc.oneof(
      { arbitrary: fc.constant("POST"), weight: 12 },
      fc.constantFrom("GET", "DELETE", "OPTIONS", "PUT", "HEAD"),
    ),
    path: fc.oneof(
      { arbitrary: fc.constant("/mcp"), weight: 12 },
      fc.constantFrom("/mcp/jsonrpc", "/", "/mcp/?x", "/mcp/health", "/.well-known/oauth-protected-resource", "/else"),
    ),
    end: fc.oneof({ arbitrary: fc.constant("whole" as const), weight: 12 }, fc.constantFrom("reset", "endSending")),
    cut: fc.double({ min: 0, max: 1, noNaN: true }),
    torn: rarely(fc.constantFrom("\xff", "\xc0\xaf", "\xed\xa0\x80", "\xef\xbb\xbf"), ""),
  })
  .map(({ body: { body: sent, headers }, extra: more, session, accept, method: verb, path, end, cut, torn }) => {
    const bytes = latin1(sent);
    const at = Math.floor(cut * bytes.length);
    const isLegacy = headers["mcp-method"] === undefined;
    return {
      method: verb,
      path,
      headers: { accept, ...headers, ...(isLegacy && session ? { "mcp-session-id": "@SESSION@" } : {}), ...more },
      bytes: `${bytes.slice(0, at)}${torn}${bytes.slice(at)}`,
      end,
    };
  });

/** What several clients ask at once. */
export const mcpInputs: fc.Arbitrary<readonly Asked[]> = fc.array(one, { minLength: 1, maxLength: 4 });
