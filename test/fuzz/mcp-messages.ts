import { isUtf8 } from "node:buffer";
import { until } from "../until.ts";
import { type Answer, ask, breakOff } from "./mcp-client.ts";
import { type Asked, longTexts, mcpInputs } from "./mcp-inputs.ts";
import { listenForFuzz } from "./program.ts";
import { must, target } from "./target.ts";

/** What a body is, read once more in the simplest way. `id` is undefined where none can be echoed. */
type Kind =
  | { readonly kind: "request" | "invalid"; readonly id: unknown }
  | { readonly kind: "notification" | "response" };
type Meaning =
  | { readonly kind: "not-json" | "bad-batch" }
  | { readonly kind: "one"; readonly one: Kind }
  | { readonly kind: "batch"; readonly all: readonly Kind[] };

function meaningOf(body: Buffer): Meaning {
  let value: unknown;
  try {
    if (!isUtf8(body)) return { kind: "not-json" };
    value = JSON.parse(body.toString("utf8"));
  } catch {
    return { kind: "not-json" };
  }
  if (!Array.isArray(value)) return { kind: "one", one: kindOf(value) };
  if (value.length === 0 || value.length > 100) return { kind: "bad-batch" };
  return { kind: "batch", all: value.map(kindOf) };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function kindOf(value: unknown): Kind {
  if (!isObject(value)) return { kind: "invalid", id: undefined };
  const { id, jsonrpc, method, params } = value;
  const canBeId = id === null || ["string", "number"].includes(typeof id);
  if (Object.hasOwn(value, "id") && !canBeId) return { kind: "invalid", id: undefined };
  if (jsonrpc !== "2.0") return { kind: "invalid", id };
  if (method === undefined && canBeId && ("result" in value || "error" in value)) return { kind: "response" };
  if (typeof method !== "string" || (params !== undefined && !isObject(params))) return { kind: "invalid", id };
  return canBeId ? { kind: "request", id } : { kind: "notification" };
}

/** The last message of a stream, or all there is. */
function messageIn({ headers, text }: Answer): string {
  if (headers["content-type"] !== "text/event-stream") return text;
  const events = text.split("\n\n").filter((event) => event.includes("data: "));
  return events.at(-1)?.replace(/^(?:event: message\n)?data: /, "") ?? "";
}

/** Ids of answers as they are written, in their order; the empty text for one that has none. */
function idsIn(text: string): readonly string[] {
  const heads = text.matchAll(
    /\{"jsonrpc":"2\.0",(?:"id":(-?[\d.eE+-]+|"(?:[^"\\]|\\.)*"|null),)?"(?:result|error|method)":/g,
  );
  return [...heads].map(([, id = ""]) => id);
}

/** A text is the same text, a number has the same digits. */
function isEcho(written: string, id: unknown, sent: string): boolean {
  if (id === undefined) return written === "";
  if (written === "" || JSON.parse(written) !== id) return false;
  return typeof id !== "number" || new RegExp(`[\\s:]${written.replace(/[.+]/g, "\\$&")}[\\s,}]`).test(sent);
}

/** What holds for every answer, whatever was asked. */
function mustBeSound({ status, headers, text }: Answer): void {
  const told = (): string => `${status} ${headers["content-type"]} ${text.slice(0, 500)}`;
  must(status < 500, told);
  if (status === 202 || status === 204) must(text === "", told);
  if (text === "" || headers["content-type"] === "text/event-stream") return;
  must(headers["content-type"] === "application/json", told);
  JSON.parse(text);
  must(!text.includes('"code":-32603'), told);
}

interface Answered {
  readonly status: number;
  /** The answer, or that which ends the stream. */
  readonly message: string;
  readonly ids: readonly string[];
  /** The body that is answered. */
  readonly sent: string;
  readonly told: () => string;
}

/** What holds for a POST that gets as far as its messages. */
function mustAnswer(asked: Asked, answer: Answer): void {
  const body = Buffer.from(asked.bytes, "latin1");
  const meaning = meaningOf(body);
  const { status, text } = answer;
  const message = messageIn(answer);
  const told = (): string => `${JSON.stringify(meaning).slice(0, 300)}: ${status} ${text.slice(0, 500)}`;
  const answered: Answered = { status, message, ids: idsIn(message), sent: body.toString("utf8"), told };
  switch (meaning.kind) {
    case "not-json":
      must(status === 400 && message.includes('"code":-32700') && !message.includes('"id"'), told);
      break;
    case "bad-batch":
      must(status === 400 && message.includes('"code":-32600') && !message.includes('"id"'), told);
      break;
    case "one":
      mustAnswerOne(meaning.one, answered);
      break;
    case "batch":
      mustAnswerAll(meaning.all, answered);
      break;
  }
}

function mustAnswerAll(all: readonly Kind[], { status, message, ids, sent, told }: Answered): void {
  const wanted = all.flatMap((one) => ("id" in one ? [one] : []));
  if (wanted.length === 0) must(message === "" && (status === 202 || (status >= 400 && status < 500)), told);
  // What was called off gets no answer.
  if (sent.includes("notifications/cancelled") && ids.length < wanted.length) return;
  must(ids.length === wanted.length, told);
  for (const [index, { id }] of wanted.entries()) must(isEcho(ids[index] ?? "", id, sent), told);
}

function mustAnswerOne(one: Kind, { status, message, ids, sent, told }: Answered): void {
  switch (one.kind) {
    case "notification":
    case "response":
      // There is no response; a rejected client gets a status, and the error has no ID.
      if (status !== 202) must([400, 404].includes(status) && ids.length === 1 && ids[0] === "", told);
      return;
    case "invalid":
      must(status === 400 && message.includes('"code":-32600'), told);
      must(ids.length === 1 && isEcho(ids[0] ?? "", one.id, sent), told);
      return;
    case "request": {
      // The first message of a stream that stays open is no answer yet.
      if (message.includes('"notifications/subscriptions/acknowledged"')) return;
      must([200, 400, 404].includes(status), told);
      must(ids.length === 1 && isEcho(ids[0] ?? "", one.id, sent), told);
    }
  }
}

const ENDPOINTS = ["/mcp", "/mcp/jsonrpc", "/", "/mcp/?x"];

/** Whether nothing but its messages decides what is answered. */
function isRead({ method, path, headers: { "content-type": type = "application/json", origin } }: Asked): boolean {
  return method === "POST" && ENDPOINTS.includes(path) && type === "application/json" && origin === undefined;
}

interface Health {
  readonly status: string;
  readonly streams: number;
}

/** Messages of agents, of both eras and of none. */
export const mcpMessages = target({
  name: "mcp-messages",
  share: 0.15,
  inputs: mcpInputs,
  open: async () => {
    const program = await listenForFuzz();
    const url = program.mcpUrl;
    const post = (body: string): Asked => {
      return { method: "POST", path: "/mcp", headers: {}, bytes: body, end: "whole" };
    };
    const begin = async (): Promise<string> => {
      const { headers } = await ask(url, post('{"jsonrpc":"2.0","id":1,"method":"initialize"}'));
      return String(headers["mcp-session-id"]);
    };
    let session = await begin();
    let task = "none";
    const health = async (): Promise<Health> => {
      const { status, text } = await ask(url, { ...post(""), method: "GET", path: "/mcp/health" });
      must(status === 200, () => `/mcp/health answers ${status}`);
      return JSON.parse(text);
    };
    const isWell = async (): Promise<void> => {
      await program.isWell();
      must((await health()).status === "ok", () => "/mcp/health is not ok");
    };
    const filled = (text: string): string =>
      text.replace(/@[A-Z]+@/g, (word) => ({ ...longTexts, "@SESSION@": session, "@TASK@": task })[word] ?? word);
    const play = async (asked: Asked): Promise<void> => {
      const headers = Object.entries(asked.headers).map(([name, value]) => [name, filled(value)]);
      const sent: Asked = { ...asked, headers: Object.fromEntries(headers), bytes: filled(asked.bytes) };
      if (sent.end !== "whole") return breakOff(url, sent);
      const answer = await ask(url, sent);
      task = /"taskId":"([^"]+)"/.exec(answer.text)?.[1] ?? task;
      mustBeSound(answer);
      if (isRead(sent)) mustAnswer(sent, answer);
    };
    let count = 0;
    return {
      async check(all) {
        const played = await Promise.allSettled(all.map(play));
        const failed = played.find((one) => one.status === "rejected");
        if (failed !== undefined || ++count % 20 === 0) await isWell();
        if (failed !== undefined) throw failed.reason;
        if (all.some(({ method }) => method === "DELETE")) session = await begin();
      },
      async [Symbol.asyncDispose]() {
        await isWell();
        // The listener has disconnected.
        await until("the end of every stream", async () => (await health()).streams === 0);
      },
    };
  },
});
