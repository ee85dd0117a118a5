import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { must } from "./target.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A response that takes longer never comes. */
const LIMIT_MS = 20_000;

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
}

/** One request over a connection that is kept, sent again while the service is too busy; rejects when no answer comes. */
export async function send(url: string, options: Request, body: Buffer = Buffer.alloc(0)): Promise<Answer> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const answer = await sendOnce(url, options, body);
    if (!isBusy(answer.status, answer.headers["retry-after"]) || performance.now() > deadline) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A busy machine makes the service refuse work, whatever is asked. */
export function isBusy(status: number, retryAfter: string | undefined): boolean {
  return status === 503 && retryAfter !== undefined;
}

function sendOnce(url: string, options: Request, body: Buffer): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const asking = request({ hostname, port, ...options, agent, timeout: LIMIT_MS }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    asking.on("timeout", () => asking.destroy(new Error(`no answer within ${LIMIT_MS} ms`)));
    asking.on("error", reject);
    asking.end(body);
  });
}

/** What holds for every answer, whatever was asked. */
export function mustBeSound({ status, headers, body }: Answer): void {
  must(status < 500, () => `status ${status}: ${body.toString("utf8").slice(0, 500)}`);
  if (status < 400 || body.length === 0) return;
  must(headers["content-type"] === "application/json", () => `${status} with ${headers["content-type"]}`);
  const parsed = JSON.parse(body.toString("utf8"));
  const [key] = Object.keys(parsed);
  must(key === "error" || key === "errors", () => `${status} with ${JSON.stringify(parsed).slice(0, 500)}`);
  if (key === "error") must(typeof parsed.error === "string", () => `error is ${typeof parsed.error}`);
  else
    for (const { field, message } of parsed.errors) must(`${field}${message}` !== "", () => "an error without words");
}
