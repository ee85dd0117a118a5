import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll } from "vitest";
import { MODERN_META } from "./mcp-server.ts";
import { type Files, type Program, type StartOptions, start, startHere } from "./process/program.ts";
import { until } from "./until.ts";

/** The project in test/fixtures/mcp: what the conformance suite needs, and a small shop. */
export const mcpFixture: Files = filesIn(join(import.meta.dirname, "fixtures/mcp"));

/** All files in a folder and its subfolders, by path. */
export function filesIn(folder: string): Files {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(names.map((name) => [name.slice(folder.length + 1), readFileSync(name, "utf8")]));
}

/** One complete response. */
export interface McpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The message, or the last message of an event stream. Undefined if there is none. */
  readonly message: RpcMessage | undefined;
  /** The messages before it. */
  readonly notices: readonly RpcMessage[];
}

export interface RpcMessage {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Json;
  readonly result?: Json;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Json };
}

/** Parsed JSON, whose content tests assert. */
export interface Json {
  readonly [name: string]: ReturnType<typeof JSON.parse>;
}

export type SentHeaders = Readonly<Record<string, string>>;

/** MCP over HTTP, without a client library. */
export interface McpRequests {
  /** Sends one POST request. A string is sent unchanged. */
  post(body: unknown, headers?: SentHeaders): Promise<McpResponse>;
  /** Sends one request in protocol version 2026-07-28, with all that it requires. */
  modern(method: string, params?: object, headers?: SentHeaders): Promise<McpResponse>;
  /** Sends one request in an older protocol version, without a session. */
  legacy(method: string, params?: object, headers?: SentHeaders): Promise<McpResponse>;
  /** Calls a tool and returns its result. */
  call(name: string, args?: object, headers?: SentHeaders): Promise<Json>;
}

export function mcpRequests(url: string): McpRequests {
  const send = async (body: unknown, headers: SentHeaders): Promise<McpResponse> => {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    return await answerOf(answer);
  };
  const modern: McpRequests["modern"] = (method, params = {}, headers = {}) =>
    send(modernBody(method, params), { ...modernHeaders(method, params), ...headers });
  return {
    post: (body, headers = {}) => send(body, headers),
    modern,
    legacy: (method, params = {}, headers = {}) => send({ jsonrpc: "2.0", id: 1, method, params }, headers),
    async call(name, args = {}, headers = {}) {
      const { message, status, text } = await modern("tools/call", { name, arguments: args }, headers);
      if (message?.result === undefined) throw new Error(`${status}: ${text}`);
      return message.result;
    },
  };
}

/** The body of a request in protocol version 2026-07-28. `_meta` in `params` overrides the default. */
export function modernBody(method: string, params: object = {}, id: unknown = 1): object {
  return { jsonrpc: "2.0", id, method, params: { _meta: MODERN_META, ...params } };
}

export function modernHeaders(method: string, params: object = {}): SentHeaders {
  const { name, uri, taskId } = params as Readonly<Record<string, string>>;
  const named = name ?? uri ?? taskId;
  return {
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": method,
    ...(named === undefined ? {} : { "Mcp-Name": named }),
  };
}

async function answerOf(answer: Response): Promise<McpResponse> {
  const text = await answer.text();
  const isStream = answer.headers.get("content-type") === "text/event-stream";
  const messages: RpcMessage[] = isStream ? eventsOf(text) : text === "" ? [] : [JSON.parse(text)];
  const { status, headers } = answer;
  return { status, headers, text, message: messages.at(-1), notices: messages.slice(0, -1) };
}

/** The messages of an event stream. */
export function eventsOf(text: string): RpcMessage[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
}

/** The real program, with requests to its MCP port. */
export interface McpProgram extends Program, McpRequests {
  /** The URL of REST. */
  readonly rest: string;
  /** The URL of MCP. */
  readonly mcp: string;
  /** The response of `/mcp/health`. */
  health(): Promise<Json>;
  /** Waits until exactly `count` streams are open. */
  untilStreams(count: number): Promise<void>;
  /** The value of a metric in `/metrics`. */
  metric(name: string): Promise<number>;
  /** Waits until exactly `count` queries are running in the database. */
  untilRunning(count: number): Promise<void>;
}

/** Starts the real program and waits for both ports. */
export async function startMcp(files: Files = mcpFixture, options: StartOptions = {}): Promise<McpProgram> {
  return await withRequests(await start(files, options));
}

/** The same in the current process, for tests that do not need a separate one. */
export async function startMcpHere(files: Files = mcpFixture, options: StartOptions = {}): Promise<McpProgram> {
  return await withRequests(await startHere(files, options));
}

async function withRequests(program: Program): Promise<McpProgram> {
  try {
    const rest = await program.url();
    const mcp = await program.mcpUrl();
    const health = async (): Promise<Json> => (await (await fetch(`${mcp}/health`)).json()) as Json;
    const metric = async (name: string): Promise<number> => {
      const figures = await (await fetch(`${rest}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(figures)?.[1]);
    };
    return {
      ...program,
      ...mcpRequests(mcp),
      rest,
      mcp,
      health,
      async untilStreams(count) {
        await until(`${count} streams`, async () => (await health())["streams"] === count);
      },
      metric,
      async untilRunning(count) {
        await until(`${count} queries`, async () => (await metric("eider_queries_running")) === count);
      },
      [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
    };
  } catch (error) {
    await program[Symbol.asyncDispose]();
    throw error;
  }
}

/** One program for all tests of a file that change nothing, started when the first test needs it. */
export function sharedMcp(): () => Promise<McpProgram> {
  let started: Promise<McpProgram> | undefined;
  afterAll(async () => {
    await (await started)?.[Symbol.asyncDispose]();
  });
  return () => {
    started ??= startMcp();
    return started;
  };
}

/** A port that is currently free. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
