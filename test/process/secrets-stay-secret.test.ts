import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sendRequest } from "../ask.ts";
import { run, runHere, start } from "./program.ts";

/** Every secret holds this word; nothing that leaves the program may. */
const MARK = "qUiEt";
const secret = (name: string): string => `${MARK}-${name}-0123456789abcdef0123456789abcdef`;

const env = {
  BASIC_PASSWORD: secret("password"),
  JWT_SECRET: secret("jwt"),
  TOKEN: secret("token"),
  CLIENT_SECRET: secret("client"),
  REDIS_URL: `redis://:${secret("redis")}@127.0.0.1:1/0`,
  DB_PASSWORD: secret("database"),
  AWS_KEY: secret("aws-key"),
  AWS_ID: secret("aws-id"),
};
const WHITELIST = `template: { environment-whitelist: [${Object.keys(env).join(", ")}] }\n`;
const endpoint = (name: string, yaml: string, sql = "SELECT 1 AS n"): Record<string, string> => ({
  [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [db]\nwith-pagination: false\n${yaml}`,
  [`${name}.sql`]: sql,
});

const project = {
  "eider.yaml": `${WHITELIST}connections:
  db: {}
  elsewhere: { init: "ATTACH '/nowhere/password=\${DB_PASSWORD}/x.duckdb' AS pg (READ_ONLY)" }
  wrong: { init: "SELECT error('\${DB_PASSWORD}')" }
auth: { type: oidc, oidc: { issuer-url: "http://127.0.0.1:1", client-id: x, client-secret: "\${CLIENT_SECRET}", allowed-audiences: [x], enable-client-credentials: true, enable-refresh-tokens: true } }
rate-limit: { max: 1000, store: "\${REDIS_URL}" }
audit: { sink: file, path: ./audit.log, redact: [password] }
log: { level: trace, format: json }
`,
  ...endpoint("oidc", ""),
  ...endpoint("basic", `auth: { type: basic, users: [{ username: ann, password: "\${BASIC_PASSWORD}" }] }\n`),
  ...endpoint(
    "bearer",
    `auth: { type: bearer, jwt-secret: "\${JWT_SECRET}", tokens: [{ token: "\${TOKEN}", username: robot }] }\n`,
  ),
  ...endpoint("down", "auth: { enabled: false }\n"),
  "elsewhere.yaml":
    "url-path: /elsewhere\ntemplate-source: elsewhere.sql\nconnection: [elsewhere]\nauth: { enabled: false }\n",
  "elsewhere.sql": "SELECT * FROM pg.t",
  "wrong.yaml": "url-path: /wrong\ntemplate-source: elsewhere.sql\nconnection: [wrong]\nauth: { enabled: false }\n",
  ...endpoint(
    "add",
    `method: POST\nauth: { type: basic, users: [{ username: ann, password: "\${BASIC_PASSWORD}" }] }\nrequest:\n  - { field-name: password, field-in: body, validators: [{ type: string, max: 3 }] }\n`,
    "SELECT '{{{params.password}}}'",
  ),
};

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
function jwt(claims: unknown, key: string): string {
  const text = `${part({ alg: "HS256" })}.${part(claims)}`;
  return `${text}.${createHmac("sha256", key).update(text).digest("base64url")}`;
}

describe("nothing that leaves the program holds a secret", () => {
  test("answers, log and audit, on every way to fail", async () => {
    await using program = await start(project, { args: ["serve", "--port", "0"], env });
    const url = await program.url();
    const seen: string[] = [];
    const statuses: Record<string, number[]> = {};
    const tried: [string, string | undefined][] = [
      ["/oidc", undefined],
      ["/oidc", "Bearer a.b.c"],
      ["/oidc", `Bearer ${part({ alg: "RS256", kid: "k" })}.${part({ sub: "x" })}.c2ln`],
      ["/basic", undefined],
      ["/basic", basic("ann", "wrong")],
      ["/basic", basic("ann", env.BASIC_PASSWORD)],
      ["/basic", `Basic ${env.BASIC_PASSWORD}`],
      ["/bearer", `Bearer ${env.TOKEN}`],
      ["/bearer", `Bearer ${env.JWT_SECRET}`],
      ["/bearer", `Bearer ${jwt({ sub: "x" }, env.JWT_SECRET)}`],
      ["/bearer", `Bearer ${jwt({ sub: "x", exp: 1 }, env.JWT_SECRET)}`],
      ["/down", undefined],
      ["/elsewhere", undefined],
      ["/wrong", undefined],
      ["/docs", undefined],
      ["/health/ready", undefined],
      ["/nowhere", undefined],
    ];
    for (const [path, authorization] of tried) {
      const answer = await sendRequest(
        url + path,
        authorization === undefined ? {} : { headers: { Authorization: authorization } },
      );
      seen.push(JSON.stringify(answer.headers), answer.body.toString());
      statuses[path] = [...(statuses[path] ?? []), answer.status];
    }
    expect(statuses).toEqual({
      "/oidc": [401, 401, 503],
      "/basic": [401, 401, 200, 401],
      "/bearer": [200, 401, 200, 401],
      "/down": [200],
      "/elsewhere": [503],
      "/wrong": [expect.any(Number)],
      "/docs": [200],
      "/health/ready": [200],
      "/nowhere": [404],
    });
    const form = async (text: string, headers = {}): Promise<number> => {
      const answer = await fetch(`${url}/auth/token`, {
        method: "POST",
        headers: { "Content-Type": "application/x-www-form-urlencoded", ...headers },
        body: text,
      });
      seen.push(JSON.stringify([...answer.headers]), await answer.text());
      return answer.status;
    };
    expect(await form("grant_type=refresh_token&refresh_token=x")).toBe(503);
    expect(await form("grant_type=client_credentials")).toBe(401);
    expect(await form(`grant_type=client_credentials&client_id=x&client_secret=${env.CLIENT_SECRET}`)).toBe(503);
    const sent = await fetch(`${url}/add`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: basic("ann", env.BASIC_PASSWORD) },
      body: JSON.stringify({ password: secret("parameter") }),
    });
    expect(sent.status).toBe(400);
    seen.push(await sent.text());
    program.signal("SIGTERM");
    expect(await program.exited).toMatchObject({ code: 0 });
    const audit = await readFile(join(program.folder, "audit.log"), "utf8");
    expect(audit.split("\n").length).toBeGreaterThan(10);
    // What a refused caller sent is not written down, so its wrong password is not either.
    for (const [where, text] of Object.entries({
      answers: seen.join("\n"),
      stdout: program.stdout(),
      stderr: program.stderr(),
      audit,
    })) {
      expect([
        where,
        text.includes(MARK),
        text.includes(Buffer.from(`ann:${MARK}`).toString("base64").slice(0, 12)),
      ]).toEqual([where, false, false]);
    }
    expect(program.stderr()).toContain("rate-limit store 127.0.0.1:1");
  });

  test("a start that fails: problems of the configuration, a secret that cannot be read", async () => {
    const wrong = {
      "eider.yaml": `${WHITELIST}connections: { db: { init: "SELECT * FROM '\${DB_PASSWORD}'", lazy: false } }
auth: { type: basic, users: [{ username: ann, password: "$pbkdf2-sha256$\${BASIC_PASSWORD}" }] }
rate-limit: { store: "http://\${TOKEN}@x" }
`,
      ...endpoint("x", `auth: { type: bearer, jwt-secret: "\${JWT_SECRET}", token: "" }\n`),
    };
    const unread = {
      "eider.yaml": `${WHITELIST}connections: { db: {} }
auth: { type: basic, from-aws-secretmanager: { secret-name: users, region: eu-central-1, secret-id: "\${AWS_ID}", secret-key: "\${AWS_KEY}" } }
`,
      ...endpoint("x", ""),
    };
    for (const [files, code, more] of [
      [wrong, 1, {}],
      [unread, 3, { AWS_ENDPOINT_URL: "http://127.0.0.1:1" }],
    ] as const) {
      for (const command of ["serve", "check"]) {
        // The library that reads secrets takes its address from the environment of the process.
        const runIt = files === wrong && command === "check" ? runHere : run;
        const ended = await runIt(files, { args: [command], env: { ...env, ...more } });
        expect(ended.code).toBe(code);
        expect(ended.stderr.length).toBeGreaterThan(0);
        expect(ended.stdout + ended.stderr).not.toContain(MARK);
      }
    }
  });

  test("secrets that are written in the configuration itself, however they are quoted", async () => {
    const connections: Record<string, string> = {
      header: `{ init: "CREATE SECRET x (TYPE http, BEARER_TOKEN '${MARK}''s-1', EXTRA_HTTP_HEADERS MAP {'X-Api-Key': '${MARK}-2'}); SELECT '${MARK}''s-1 ${MARK}-2'::INT" }`,
      url: `{ init: "ATTACH 'postgres://u:${MARK}%2F3@127.0.0.1:1/x' AS pg (TYPE duckdb)" }`,
      decoded: `{ properties: { dsn: "postgres://u:${MARK}%2F4@h/x" }, init: "SELECT error('${MARK}/4')" }`,
      pairs: `{ properties: { dsn: "host=x password=${MARK}-5" }, init: "SELECT error('for ${MARK}-5')" }`,
      named: `{ properties: { client_secret: "${MARK} six" }, init: "SELECT error('missing after ${MARK}')" }`,
    };
    const names = Object.keys(connections);
    await using program = await start(
      {
        "eider.yaml": `connections:\n  db: {}\n${names.map((name) => `  ${name}: ${connections[name]}\n`).join("")}log: { level: trace }\n`,
        ...endpoint("db", "", `SELECT error('as ${MARK}-5') AS v`),
        ...Object.assign(
          {},
          ...names.map((name) => ({
            [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: db.sql\nconnection: [${name}]\n`,
          })),
        ),
      },
      { args: ["serve", "--port", "0"] },
    );
    const url = await program.url();
    const seen: string[] = [];
    for (const path of [...names, "db", "health/ready", "docs"]) {
      const answer = await sendRequest(`${url}/${path}`);
      seen.push(`${path} ${answer.status} ${answer.body.toString()}`);
    }
    expect(seen.slice(0, names.length + 1).map((text) => text.split(" ")[1])).toEqual([
      ...names.map(() => "503"),
      "500",
    ]);
    for (const text of [...seen, program.stdout(), program.stderr()]) expect(text.includes(MARK) ? text : "").toBe("");
    expect(program.stderr().match(/cannot be reached/g)?.length).toBeGreaterThanOrEqual(names.length);
  });
});
