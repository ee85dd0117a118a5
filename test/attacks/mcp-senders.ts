import { isDeepStrictEqual } from "node:util";
import { modernBody, modernHeaders } from "../mcp-program.ts";
import { type Answer, askPatiently, isRefusedForNow } from "./kept-connection.ts";
import { declaredFields, type Outcome, params, type Sender, type Target } from "./sender.ts";

/** What a tool says when the service has too much to do. */
const BUSY = "Too many requests are waiting";

interface Told {
  readonly result?: {
    readonly content?: readonly { readonly text: string }[];
    readonly structuredContent?: { readonly rows?: readonly unknown[]; readonly data?: readonly unknown[] };
    readonly isError?: boolean;
    readonly contents?: readonly { readonly text: string }[];
  };
  readonly error?: { readonly code: number; readonly message: string };
}

const isBusy = (answer: Answer): boolean => isRefusedForNow(answer) || answer.body.includes(BUSY);

/** One request; the new era repeats in headers what it is about. */
async function ask(
  url: string,
  body: object,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly answer: Answer; readonly told: Told }> {
  const answer = await askPatiently(
    url,
    {
      method: "POST",
      path: "/mcp",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    },
    isBusy,
  );
  return { answer, told: answer.status === 200 ? JSON.parse(answer.body) : {} };
}

/** Lines of `field: message`; undefined when it is something else that went wrong. */
function refusedBy(text: string): Outcome | undefined {
  const lines = text.split("\n").map((line) => /^(\w+): (.+)$/.exec(line));
  const errors = lines.flatMap((line) => (line === null ? [] : [{ field: line[1] ?? "", message: line[2] ?? "" }]));
  return errors.length === lines.length ? { kind: "refused", errors } : undefined;
}

function broken({ status, body }: Answer): Outcome {
  return { kind: "broken", what: `${status} ${body.slice(0, 300)}` };
}

const valuesOf = ({ fields }: Target, text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.keys(fields).map((field) => [field, text]));

/** The arguments of a tool. */
const tool: Sender = {
  name: "tool",
  surface: "mcp",
  only: ["none", "string", "paged", "wrapped", "unwrapped", "write", "narrow"],
  variable: params,
  hasFields: true,
  declare: (target) => `mcp-tool: { name: ${target.name}, description: Tries }\n${declaredFields(target, "body")}`,
  carries: () => true,
  async send(url, target, text) {
    const called = { name: target.name, arguments: valuesOf(target, text) };
    const { answer, told } = await ask(url, modernBody("tools/call", called), modernHeaders("tools/call", called));
    const { content: [block] = [], structuredContent, isError } = told.result ?? {};
    if (block === undefined) return broken(answer);
    if (isError === true) return refusedBy(block.text) ?? broken(answer);
    // A model reads the one, a program the other.
    const shown = target.does === "read" ? structuredContent?.rows : structuredContent;
    if (!isDeepStrictEqual(JSON.parse(block.text), shown)) return broken(answer);
    return { kind: "rows", rows: structuredContent?.rows ?? structuredContent?.data ?? [] };
  },
};

/** What a resource is asked with stands in its address, as a part of the path or in the query. */
function address(place: "path" | "query", only: readonly string[]): Sender {
  const name = `uri_${place}`;
  const nameOf = ({ name: of, fields }: Target, show: (field: string) => string): string =>
    [name, of, ...(place === "path" ? Object.keys(fields).map(show) : [])].join("/");
  return {
    name,
    surface: "mcp",
    only,
    variable: params,
    hasFields: true,
    declare: (target) =>
      `mcp-resource: { name: "${nameOf(target, (field) => `{${field}}`)}", description: Tries }\n${declaredFields(target, place)}`,
    // An empty part is another address.
    carries: (text) => place === "query" || text !== "",
    async send(url, target, text) {
      const value = encodeURIComponent(text);
      const pairs = Object.keys(target.fields).map((field) => `${field}=${value}`);
      const query = place === "query" ? `?${pairs.join("&")}` : "";
      const uri = `eider://${nameOf(target, () => value)}${query}`;
      const { answer, told } = await ask(url, { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri } }, {});
      if (told.error !== undefined) return refusedBy(told.error.message) ?? broken(answer);
      const [content] = told.result?.contents ?? [];
      return content === undefined ? broken(answer) : { kind: "rows", rows: JSON.parse(content.text) };
    },
  };
}

/** What agents send. Behind the arguments is the code that others have tried: what is theirs alone is tried here. */
export const mcpSenders: readonly Sender[] = [
  tool,
  address("path", ["unscanned"]),
  address("query", ["unscanned", "string"]),
];
