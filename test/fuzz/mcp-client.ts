import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { openSocket } from "../socket.ts";
import { isBusy } from "./answers.ts";
import type { Asked } from "./mcp-inputs.ts";
import { must } from "./target.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A response that takes longer never comes. */
const LIMIT_MS = 20_000;

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

/** One request, sent again while the service is too busy; rejects when no answer comes. A stream that stays open is left. */
export async function ask(url: string, asked: Asked): Promise<Answer> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const answer = await askOnce(url, asked);
    if (!isBusy(answer.status, answer.headers["retry-after"]) || performance.now() > deadline) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function askOnce(url: string, { method, path, headers, bytes }: Asked): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    // Node would send the body of a GET without its length.
    const all = { "content-type": "application/json", "content-length": bytes.length, ...headers };
    const asking = request({ hostname, port, method, path, headers: all, agent }, (response) => {
      let text = "";
      const answered = (): void => {
        clearTimeout(timer);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      };
      const leave = (): void => {
        answered();
        asking.destroy();
      };
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.includes('"notifications/subscriptions/acknowledged"') && text.endsWith("\n\n")) leave();
      });
      response.on("error", reject);
      response.on("end", answered);
      const isStream = response.headers["content-type"] === "text/event-stream";
      // What waits for news has none.
      if (method === "GET" && isStream) leave();
    });
    const timer = setTimeout(() => asking.destroy(new Error(`no answer within ${LIMIT_MS} ms`)), LIMIT_MS);
    asking.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    asking.end(Buffer.from(bytes, "latin1"));
  });
}

/** One request whose body ends before its length. */
export async function breakOff(url: string, { method, path, headers, bytes, end }: Asked): Promise<void> {
  using socket = await openSocket(url);
  const lines = Object.entries({ host: new URL(url).host, "content-type": "application/json", ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.send(`${method} ${path} HTTP/1.1\r\n${head}content-length: ${bytes.length + 9}\r\n\r\n`);
  socket.send(Buffer.from(bytes, "latin1"));
  await new Promise((resolve) => setImmediate(resolve));
  if (end === "reset") return socket.reset();
  socket.endSending();
  await socket.untilClosed();
  // The body that it has not got cannot be told from the next answer.
  if (method === "HEAD") return;
  for (const { status, body } of socket.answers()) must(status < 500, () => `${status} ${body.slice(0, 300)}`);
}
