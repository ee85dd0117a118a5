import { Agent, request } from "node:http";

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/** Ends the connections that are kept for the next text. */
export function hangUp(): void {
  agent.destroy();
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

/** A machine that is busy with other things may make the service refuse work, whatever is asked. */
const PATIENCE_MS = 60_000;

/** One call over a connection that is kept, made again while the service says that it is too busy. */
export async function askPatiently(url: string, asked: Asked, isBusy = isRefusedForNow): Promise<Answer> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask(url, asked);
    if (!isBusy(answer) || performance.now() > deadline) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function isRefusedForNow({ status, retryAfter }: Answer): boolean {
  return status === 503 && retryAfter !== undefined;
}

/** Nothing of the path is made nicer on the way. */
function ask(url: string, { method, path, headers = {}, body = "" }: Asked): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const asking = request({ hostname, port, method, path, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode: status = 0, headers: answered } = response;
        resolve({ status, retryAfter: answered["retry-after"], body: Buffer.concat(chunks).toString("utf8") });
      });
    });
    asking.on("error", reject);
    asking.end(body);
  });
}
