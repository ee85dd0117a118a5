import { parseExact } from "../client/runtime/exact-json.ts";
import { isRecord, type JsonRecord, type JsonValue, jsonText } from "../config/expected-value.ts";
import type { TestFile, TestRequest } from "../config/test-files.ts";
import { META, modernVersions } from "../mcp/protocol.ts";
import type { TestServer } from "./test-server.ts";

/** What came back, over either surface. */
export interface TestResponse {
  readonly status: number;
  /** JSON data, or text if it is not JSON. */
  readonly body: JsonValue;
  /** Undefined if the body contains no rows. */
  readonly rows: readonly JsonValue[] | undefined;
  readonly totalCount: JsonValue | undefined;
  /** The message for each rejected field. Undefined if the body contains none. */
  readonly errors: Readonly<Record<string, string>> | undefined;
}

/** Sends the request of a test, over HTTP or MCP. */
export async function sendRequest(
  request: TestRequest,
  { surface, endpoint }: Pick<TestFile, "surface" | "endpoint">,
  server: TestServer,
): Promise<TestResponse> {
  const user = request.user && { Authorization: server.users.authorizationOf(request.user) };
  if (surface === "mcp") {
    const name = endpoint.mcp?.name ?? "";
    return await callTool({ name, args: request.body, headers: { ...request.headers, ...user } }, server);
  }
  const { method = "GET", urlPath = "/" } = endpoint.rest ?? {};
  const response = await fetch(server.url + targetOf(urlPath, request), {
    method,
    redirect: "manual",
    headers: {
      ...(request.body === undefined ? {} : { "Content-Type": "application/json" }),
      ...request.headers,
      ...user,
    },
    ...(request.body === undefined ? {} : { body: bodyText(request.body) }),
  });
  const isJson = /\bjson\b/.test(response.headers.get("content-type") ?? "");
  const text = await response.text();
  const body = isJson && text !== "" ? parseJson(text) : text;
  return { status: response.status, body, ...partsOf(body, endpoint.returns === "one" && response.ok) };
}

/** A string is sent as it is. */
function bodyText(body: JsonValue): string {
  return typeof body === "string" ? body : jsonText(body);
}

function targetOf(urlPath: string, { path, query }: TestRequest): string {
  const filled = urlPath.replaceAll(/:([^/]+)/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const pairs = Object.entries(query).flatMap(([name, values]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return pairs.length === 0 ? filled : `${filled}?${new URLSearchParams(pairs)}`;
}

/** Numbers keep all their digits. */
function parseJson(text: string): JsonValue {
  // JSON consists of these types only.
  return parseExact(text, "json") as JsonValue;
}

type Parts = Pick<TestResponse, "rows" | "totalCount" | "errors">;

function partsOf(body: JsonValue, isOneRow: boolean): Parts {
  if (!isRecord(body)) return { rows: listOf(body), totalCount: undefined, errors: undefined };
  const { data, rows = data, total_count: totalCount, errors } = body;
  const isRow = isOneRow && rows === undefined && !("rows_affected" in body);
  return {
    rows: isRow ? [body] : isRecord(rows) ? [rows] : listOf(rows),
    totalCount,
    errors: errors === undefined ? undefined : Object.fromEntries((listOf(errors) ?? []).flatMap(fieldErrorOf)),
  };
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function fieldErrorOf(error: JsonValue): readonly (readonly [string, string])[] {
  return isRecord(error) ? [[String(error["field"]), String(error["message"])]] : [];
}

const [VERSION = ""] = modernVersions;
const REQUEST_META = { [META.protocolVersion]: VERSION, [META.clientCapabilities]: {} };

interface ToolCall {
  readonly name: string;
  readonly args: JsonValue | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

async function callTool({ name, args = {}, headers }: ToolCall, server: TestServer): Promise<TestResponse> {
  const params: JsonRecord = { _meta: REQUEST_META, name, arguments: args };
  const response = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": VERSION,
      "Mcp-Method": "tools/call",
      "Mcp-Name": name,
      ...headers,
    },
    body: jsonText({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  const text = await response.text();
  const reply = parseJson(messageIn(text));
  const result = isRecord(reply) ? reply["result"] : undefined;
  if (!isRecord(result)) {
    const error = isRecord(reply) ? reply["error"] : undefined;
    const body = isRecord(error) && typeof error["message"] === "string" ? error["message"] : text;
    return { status: response.status, body, rows: undefined, totalCount: undefined, errors: undefined };
  }
  const written = (listOf(result["content"]) ?? []).map((block) => (isRecord(block) ? block["text"] : undefined));
  const message = written.filter((each) => typeof each === "string").join("\n");
  const { structuredContent: body = message } = result;
  const status = server.lastStatus() ?? response.status;
  if (result["isError"] !== true) return { status, body, ...partsOf(body, isRecord(body) && !("row_count" in body)) };
  const errors = status === 400 ? Object.fromEntries(message.split("\n").map(lineError)) : undefined;
  return { status, body: message, rows: undefined, totalCount: undefined, errors };
}

/** A response may be a stream of events, of which the last contains it. */
function messageIn(text: string): string {
  return /^\s*\{/.test(text)
    ? text
    : (text
        .match(/^data: (.*)$/gm)
        ?.at(-1)
        ?.slice(6) ?? "null");
}

function lineError(line: string): readonly [string, string] {
  const [field = "", ...message] = line.split(": ");
  return [field, message.join(": ")];
}
