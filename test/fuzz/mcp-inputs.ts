import fc from "fast-check";
import { MODERN_META, TASKS_META } from "../mcp-server.ts";
import { mutations } from "./mutate.ts";
import { words } from "./words.ts";

/** One request to the listener of MCP. `@SESSION@` and `@TASK@` stand for ids that the program gave out. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, with one character for each byte. */
  readonly bytes: string;
  /** How it ends: as announced, or before, by a client that goes or one that still listens. */
  readonly end: "whole" | "reset" | "half";
}

const some = (list: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...list);
const json = fc.jsonValue({ maxDepth: 3 });

const DEPTH = 20_000;
const deep = fc.constantFrom("[".repeat(DEPTH) + "]".repeat(DEPTH), '{"a":'.repeat(DEPTH) + "1" + "}".repeat(DEPTH));
const id = fc.oneof({ arbitrary: some(words.mcpIds), weight: 6 }, fc.constant("9".repeat(3_000)), json.map(text));
const method = fc.oneof({ arbitrary: some(words.mcpMethods), weight: 12 }, fc.string());
const name = fc.oneof({ arbitrary: some(words.mcpNames), weight: 9 }, fc.string({ unit: "binary" }));

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

const args = fc.oneof(
  fc.dictionary(fc.oneof(fc.constantFrom("b", "c", "id", "q", "v", "limit", "__proto__"), fc.string()), json, {
    noNullPrototype: true,
  }),
  json,
);

const paramsObject = fc.record(
  {
    name,
    uri: name,
    taskId: fc.oneof(fc.constant("@TASK@"), json),
    cursor: json,
    arguments: args,
    ref: fc.oneof(
      fc.record({ type: fc.constantFrom("ref/prompt", "ref/resource"), name: fc.constant("letter"), uri: name }),
      json,
    ),
    argument: fc.oneof(fc.record({ name: fc.constant("c"), value: fc.string() }), json),
    context: json,
    requestId: json,
    level: fc.oneof(fc.constant("debug"), json),
    protocolVersion: json,
    notifications: fc.oneof(
      fc.record({ toolsListChanged: json, resourceSubscriptions: json, taskIds: json }, { requiredKeys: [] }),
      json,
    ),
  },
  { requiredKeys: ["name", "uri"] },
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
    nested: fc.option(deep, { nil: undefined, freq: 30 }),
  })
  .map(messageOf);

function messageOf({ id: known, method: called, params, meta: given, nested }: Parts): Message {
  const { uri, name: by } = params;
  const named = called.startsWith("resources/") ? uri : called.startsWith("tasks/") ? params["taskId"] : by;
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

const pieces = [...words.json, ...words.mcpJson, ...words.mcpIds];
const mutated = fc
  .oneof(message, several)
  .chain(({ body: sound, headers }) =>
    mutations(fc.constant(sound), pieces).map((changed): Message => ({ body: changed, headers })),
  );

const latin1 = (value: string): string => Buffer.from(value, "utf8").toString("latin1");

const body = fc.oneof(
  { arbitrary: message, weight: 6 },
  { arbitrary: several, weight: 2 },
  { arbitrary: mutated, weight: 3 },
  json.map((value): Message => ({ body: text(value), headers: {} })),
  deep.map((value): Message => ({ body: value, headers: {} })),
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
    some(words.mcpHeaders),
    { maxKeys: 3, noNullPrototype: true },
  ),
);

const one: fc.Arbitrary<Asked> = fc
  .record({
    body,
    extra,
    session: fc.boolean(),
    method: fc.oneof(
      { arbitrary: fc.constant("POST"), weight: 12 },
      fc.constantFrom("GET", "DELETE", "OPTIONS", "PUT", "HEAD"),
    ),
    path: fc.oneof(
      { arbitrary: fc.constant("/mcp"), weight: 12 },
      fc.constantFrom("/mcp/jsonrpc", "/", "/mcp/?x", "/mcp/health", "/.well-known/oauth-protected-resource", "/else"),
    ),
    end: fc.oneof({ arbitrary: fc.constant("whole" as const), weight: 12 }, fc.constantFrom("reset", "half")),
    cut: fc.double({ min: 0, max: 1, noNaN: true }),
    torn: fc.option(fc.constantFrom("\xff", "\xc0\xaf", "\xed\xa0\x80", "\xef\xbb\xbf"), { nil: "", freq: 12 }),
  })
  .map(({ body: { body: sent, headers }, extra: more, session, method: verb, path, end, cut, torn }) => {
    const bytes = latin1(sent);
    const at = Math.floor(cut * bytes.length);
    const isLegacy = headers["mcp-method"] === undefined;
    return {
      method: verb,
      path,
      headers: { ...headers, ...(isLegacy && session ? { "mcp-session-id": "@SESSION@" } : {}), ...more },
      bytes: `${bytes.slice(0, at)}${torn}${bytes.slice(at)}`,
      end,
    };
  });

/** What several clients ask at once. */
export const mcpInputs: fc.Arbitrary<readonly Asked[]> = fc.array(one, { minLength: 1, maxLength: 4 });
