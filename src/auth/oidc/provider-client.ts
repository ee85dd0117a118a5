import { errorCode } from "../../error-message.ts";
import { type JsonObject, parseObject } from "./json.ts";

/** A response from a provider. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Requests to a provider, limited in time and size. Redirects must stay on the same origin. */
export interface ProviderClient {
  /** Rejects with an Error whose message is safe to log: it contains no headers and no body. */
  get(url: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  /** Like `get`, but requires status 200 and a JSON object. */
  getObject(url: string): Promise<JsonObject>;
  /** Does not follow redirects, because it sends a secret. */
  post(url: string, form: URLSearchParams, headers: Readonly<Record<string, string>>): Promise<Reply>;
  /** Aborts all running requests. */
  close(): void;
}

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 1024 * 1024;
const MAX_REDIRECTS = 3;
/** GitHub rejects requests without a user agent. */
const DEFAULT_HEADERS = { accept: "application/json", "user-agent": "eider" };

/** The provider closed a connection that was kept open, perhaps just as the request was sent. A second request opens a new one. */
const CLOSED: ReadonlySet<string> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

type Fetch = typeof globalThis.fetch;

export function openProviderClient(fetch: Fetch): ProviderClient {
  const running = new Set<AbortController>();

  async function withTimeout<T>(host: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), TIMEOUT_MS);
    running.add(controller);
    try {
      return await work(controller.signal);
    } catch (error) {
      if (controller.signal.aborted) throw new Error(`${host} did not answer within ${TIMEOUT_MS / 1000} s`);
      throw error instanceof BadReply ? error : new Error(`${host} cannot be reached (${codeOf(error)})`);
    } finally {
      clearTimeout(timer);
      running.delete(controller);
    }
  }

  async function get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    const { host, origin } = new URL(url);
    return await withTimeout(host, async (signal) => {
      let target = url;
      for (let redirects = 0; ; redirects++) {
        const init: RequestInit = { headers: { ...DEFAULT_HEADERS, ...headers }, redirect: "manual", signal };
        const response = await fetch(target, init).catch((error: unknown) => {
          if (!CLOSED.has(codeOf(error))) throw error;
          return fetch(target, init);
        });
        const location = isRedirect(response.status) ? response.headers.get("location") : null;
        if (location === null) return await readReply(response, host);
        await response.body?.cancel();
        const next = URL.canParse(location, target) ? new URL(location, target) : undefined;
        if (next?.origin !== origin || redirects === MAX_REDIRECTS) {
          throw new BadReply(`${host} redirects to another origin, or too often`);
        }
        target = next.href;
      }
    });
  }

  return {
    get,
    async getObject(url) {
      const { status, text } = await get(url);
      if (status !== 200) throw new Error(`${url} answers with status ${status}`);
      const object = parseObject(text);
      if (object === undefined) throw new Error(`${url} does not answer with a JSON object`);
      return object;
    },
    async post(url, form, headers) {
      const { host } = new URL(url);
      return await withTimeout(host, async (signal) => {
        const init = { method: "POST", body: form, headers: { ...DEFAULT_HEADERS, ...headers }, signal };
        return await readReply(await fetch(url, { ...init, redirect: "manual" }), host);
      });
    },
    close() {
      for (const controller of running) controller.abort();
    },
  };
}

class BadReply extends Error {}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

async function readReply(response: Response, host: string): Promise<Reply> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early cancels the response.
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > MAX_BYTES) throw new BadReply(`${host} answers with more than ${MAX_BYTES} bytes`);
    pieces.push(piece);
  }
  return { status: response.status, headers: response.headers, text: Buffer.concat(pieces).toString() };
}

/** Only the code, because the message of a failed request may quote its headers. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return errorCode(cause) ?? "no connection";
}
