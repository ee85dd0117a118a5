import { createHmac } from "node:crypto";
import { type Asked, askPatiently } from "./kept-connection.ts";
import { mcpSenders } from "./mcp-senders.ts";
import { declaredFields, methodOf, type Outcome, params, type Sender, type Target } from "./sender.ts";

async function call(url: string, asked: Asked): Promise<Outcome> {
  const { status, body } = await askPatiently(url, asked);
  return outcomeOf(status, body);
}

function outcomeOf(status: number, body: string): Outcome {
  const broken: Outcome = { kind: "broken", what: `${status} ${body.slice(0, 300)}` };
  if (status !== 200 && status !== 400) return broken;
  const parsed = JSON.parse(body);
  if (status === 400) return Array.isArray(parsed.errors) ? { kind: "refused", errors: parsed.errors } : broken;
  return { kind: "rows", rows: Array.isArray(parsed) ? parsed : parsed.data };
}

function declared(target: Target, options: { location: string; path?: string; method?: string }): string {
  const { location, path = `/${location}/${target.name}`, method } = options;
  return `url-path: ${path}\n${declaredFields(target, location, method)}`;
}

const query: Sender = {
  name: "query",
  surface: "rest",
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
  surface: "rest",
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
  surface: "rest",
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
  surface: "rest",
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
  surface: "rest",
  variable: () => "auth.username",
  hasFields: false,
  declare: (target) => {
    const yaml = `${target.yaml}auth: { type: bearer, jwt-secret: "${JWT_SECRET}" }\n`;
    return declared({ ...target, yaml, fields: {} }, { location: "token" });
  },
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
export const senders: readonly Sender[] = [query, path, header, body, token, ...mcpSenders];
