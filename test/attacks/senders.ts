import { createHmac } from "node:crypto";
import { Agent, request } from "node:http";

/** What became of a text that was sent. */
export type Outcome =
  | { readonly kind: "rows"; readonly rows: readonly unknown[] }
  | { readonly kind: "refused"; readonly errors: readonly { readonly field: string; readonly message: string }[] }
  | { readonly kind: "broken"; readonly what: string };

/** An endpoint that a sender can reach. */
export interface Target {
  readonly name: string;
  readonly does: "read" | "write";
  /** Further lines of its YAML. */
  readonly yaml: string;
  /** The fields that carry the text, each with its `validators` in YAML, or the empty text for none. */
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * One way for a text to reach a template. MCP becomes another member of the list when it is served: `declare` gives a
 * file with `mcp-tool`, `send` calls the tool and turns its result into an Outcome.
 */
export interface Sender {
  readonly name: string;
  /** What templates call the text. */
  readonly variable: (field: string) => string;
  /** Whether one call carries one text in several fields, each with validators of its own. */
  readonly hasFields: boolean;
  /** The endpoint's YAML, without its template. */
  readonly declare: (target: Target) => string;
  /** False for a text that this way has no room for: there it would be malformed HTTP. */
  readonly carries: (text: string) => boolean;
  readonly send: (url: string, target: Target, text: string) => Promise<Outcome>;
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/** Ends the connections that are kept for the next text. */
export function hangUp(): void {
  agent.destroy();
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** A machine that is busy with other things may make the service refuse work, whatever is asked. */
const PATIENCE_MS = 60_000;

/** One call over a connection that is kept, made again while the service says that it is too busy. */
async function call(url: string, asked: Request): Promise<Outcome> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const { status, isBusy, body } = await ask(url, asked);
    if (!isBusy || performance.now() > deadline) return outcomeOf(status, body);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

interface Answer {
  readonly status: number;
  readonly isBusy: boolean;
  readonly body: string;
}

/** Nothing of the path is made nicer on the way. */
function ask(url: string, { method, path, headers = {}, body = "" }: Request): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const asking = request({ hostname, port, method, path, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const status = response.statusCode ?? 0;
        const isBusy = status === 503 && response.headers["retry-after"] !== undefined;
        resolve({ status, isBusy, body: Buffer.concat(chunks).toString("utf8") });
      });
    });
    asking.on("error", reject);
    asking.end(body);
  });
}

function outcomeOf(status: number, body: string): Outcome {
  const broken: Outcome = { kind: "broken", what: `${status} ${body.slice(0, 300)}` };
  if (status !== 200 && status !== 400) return broken;
  const parsed = JSON.parse(body);
  if (status === 400) return Array.isArray(parsed.errors) ? { kind: "refused", errors: parsed.errors } : broken;
  return { kind: "rows", rows: Array.isArray(parsed) ? parsed : parsed.data };
}

const params = (field: string): string => `params.${field}`;

const methodOf = ({ does }: Target): string => (does === "read" ? "GET" : "POST");

function declared(
  target: Target,
  options: { location: string; path?: string; method?: string; auth?: string },
): string {
  const { location, path = `/${location}/${target.name}`, method = methodOf(target), auth = "" } = options;
  const fields = Object.entries(target.fields).map(
    ([field, validators]) =>
      `  - { field-name: ${field}, field-in: ${location}${validators === "" ? "" : `, validators: ${validators}`} }\n`,
  );
  const operation = target.does === "read" ? "{ type: Read }" : "{ type: Write, returns-data: true }";
  return `url-path: ${path}\nmethod: ${method}\noperation: ${operation}\nconnection: [memory]\n${target.yaml}${auth}${location === "token" ? "" : `request:\n${fields.join("")}`}`;
}

const query: Sender = {
  name: "query",
  variable: params,
  hasFields: true,
  declare: (target) => declared(target, { location: "query" }),
  carries: () => true,
  send: (url, target, text) => {
    const pairs = Object.keys(target.fields).map((field) => `${field}=${encodeURIComponent(text)}`);
    return call(url, { method: methodOf(target), path: `/query/${target.name}?${pairs.join("&")}` });
  },
};

const path: Sender = {
  name: "path",
  variable: params,
  hasFields: true,
  declare: (target) => {
    const segments = Object.keys(target.fields).map((field) => `/:${field}`);
    return declared(target, { location: "path", path: `/path/${target.name}${segments.join("")}` });
  },
  // An empty segment is another path.
  carries: (text) => text !== "",
  send: (url, target, text) => {
    const segments = Object.keys(target.fields).map(() => `/${encodeURIComponent(text)}`);
    return call(url, { method: methodOf(target), path: `/path/${target.name}${segments.join("")}` });
  },
};

const header: Sender = {
  name: "header",
  variable: params,
  hasFields: true,
  declare: (target) => declared(target, { location: "header" }),
  // RFC 9110: no control characters but the tab, no white space around.
  carries: (text) =>
    !/\p{Cc}/u.test(text.replaceAll("\t", "").replace(/[\u0080-\u009f]/g, "")) && !/^[ \t]|[ \t]$/.test(text),
  send: (url, target, text) => {
    const bytes = Buffer.from(text, "utf8").toString("latin1");
    const headers = Object.fromEntries(Object.keys(target.fields).map((field) => [field.replaceAll("_", "-"), bytes]));
    return call(url, { method: methodOf(target), path: `/header/${target.name}`, headers });
  },
};

const body: Sender = {
  name: "body",
  variable: params,
  hasFields: true,
  declare: (target) => declared(target, { location: "body", method: "POST" }),
  carries: () => true,
  send: (url, target, text) =>
    call(url, {
      method: "POST",
      path: `/body/${target.name}`,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(Object.fromEntries(Object.keys(target.fields).map((field) => [field, text]))),
    }),
};

const JWT_SECRET = "a secret of the tests with more than 32 bytes";

/** The user name of a token: no parameter, but text from outside all the same. */
const token: Sender = {
  name: "token",
  variable: () => "auth.username",
  hasFields: false,
  declare: (target) =>
    declared(target, { location: "token", auth: `auth: { type: bearer, jwt-secret: "${JWT_SECRET}" }\n` }),
  carries: (text) => text !== "",
  send: (url, target, text) => {
    const parts = [{ alg: "HS256", typ: "JWT" }, { sub: text }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString("base64url"),
    );
    const signature = createHmac("sha256", JWT_SECRET).update(parts.join(".")).digest("base64url");
    const headers = { Authorization: `Bearer ${parts.join(".")}.${signature}` };
    return call(url, { method: methodOf(target), path: `/token/${target.name}`, headers });
  },
};

/** Every way in which a text can come. */
export const senders: readonly Sender[] = [query, path, header, body, token];
