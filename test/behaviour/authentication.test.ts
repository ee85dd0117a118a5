import { createHmac, pbkdf2Sync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sendRequest } from "../ask.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const HASH = `$pbkdf2-sha256$1000$${Buffer.alloc(16, 7).toString("base64")}$${pbkdf2Sync("päss:word", Buffer.alloc(16, 7), 1000, 32, "sha256").toString("base64")}`;
const WHO = `SELECT '{{{auth.username}}}' AS username, '{{{auth.roles}}}' AS roles, '{{{auth.type}}}' AS type, {{auth.authenticated}} AS authenticated,
  {{auth.email}} AS email, {{auth.groups}} AS groups, {{#auth.authenticated}}'in'{{/auth.authenticated}}{{^auth.authenticated}}'out'{{/auth.authenticated}} AS section`;
const ANONYMOUS = { username: "", roles: "", type: "", authenticated: null, email: null, groups: null, section: "out" };

/** An endpoint that tells who calls. */
const who = (path: string, yaml = "", sql = WHO): Files => ({
  [`${path}.yaml`]: `url-path: /${path}\ntemplate-source: ${path}.sql\nconnection: [db]\nwith-pagination: false\n${yaml}`,
  [`${path}.sql`]: sql,
});

const main = `connections: { db: { init: "CREATE TABLE IF NOT EXISTS calls (i INTEGER)" } }
auth:
  enabled: true
  type: basic
  users:
    - { username: alice, password: '${HASH}', roles: [admin, read] }
    - { username: md5, password: 5f4dcc3b5aa765d61d8327deb882cf99, roles: [read] }
    - { username: plain, password: 'with:colon' }
`;

const BEARER = `auth:\n  type: bearer\n  jwt-secret: ${SECRET}\n  jwt-issuer: issuer\n`;
const OPAQUE = `auth:\n  type: bearer\n  tokens:\n    - { token: ${SECRET}, username: robot, roles: [a, b] }\n    - { token: nobody-${SECRET} }\n`;
/** Everything that could have been run or validated. */
const WRITE =
  "method: POST\nrequest:\n  - { field-name: i, field-in: body, required: true, validators: [{ type: int }] }\n";

let service: TestService;
beforeAll(async () => {
  service = await serviceFrom({
    "eider.yaml": main,
    ...who("who"),
    ...who("open", "auth: { enabled: false }\n"),
    ...who("bearer", BEARER),
    ...who("opaque", OPAQUE),
    ...who("included", "auth: {{include:auth-prod from shared/auth.yaml}}\n"),
    "shared/auth.yaml": `auth:\n  type: basic\n  users: [{ username: dev, password: dev }]\nauth-prod:\n  type: basic\n  users: [{ username: prod, password: prod }]\n`,
    ...who("write", WRITE, "INSERT INTO calls VALUES ({{params.i}})"),
    ...who("calls", "auth: { enabled: false }\n", "SELECT count(*)::INTEGER AS n FROM calls"),
  });
});
afterAll(() => service[Symbol.asyncDispose]());

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

function jwt(
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>> = {},
  secret = SECRET,
): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT", ...header })}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

async function get(path: string, authorization?: string): Promise<readonly [number, unknown]> {
  const answer = await service.get(path, authorization === undefined ? {} : { Authorization: authorization });
  return [answer.status, await answer.json()];
}

describe("blocks", () => {
  test("the global one holds for every endpoint without its own, and says who calls", async () => {
    expect(await get("/who")).toEqual([401, { error: "Unauthorized" }]);
    expect(await get("/who", basic("alice", "päss:word"))).toEqual([
      200,
      [{ ...ANONYMOUS, username: "alice", roles: "admin,read", type: "basic", authenticated: true, section: "in" }],
    ]);
  });

  test("enabled: false switches it off, and then everything of auth.* is unset", async () => {
    expect(await get("/open")).toEqual([200, [ANONYMOUS]]);
    expect(await get("/open", basic("alice", "päss:word"))).toEqual([200, [ANONYMOUS]]);
    expect(await get("/open", "nonsense")).toEqual([200, [ANONYMOUS]]);
  });

  test("an endpoint's own replaces it as a whole", async () => {
    expect((await get("/bearer", basic("alice", "päss:word")))[0]).toBe(401);
    expect((await get("/bearer", `Bearer ${jwt({ sub: "x", iss: "issuer" })}`))[0]).toBe(200);
    expect((await get("/who", `Bearer ${jwt({ sub: "x", iss: "issuer" })}`))[0]).toBe(401);
  });

  test("a variant that is included", async () => {
    expect((await get("/included", basic("prod", "prod")))[0]).toBe(200);
    expect((await get("/included", basic("dev", "dev")))[0]).toBe(401);
    expect((await get("/included", basic("alice", "päss:word")))[0]).toBe(401);
  });
});

describe("401", () => {
  test("is the same to the byte for missing, malformed and wrong credentials", async () => {
    for (const [path, challenge] of [
      ["/who", 'Basic realm="eider"'],
      ["/bearer", 'Bearer realm="eider", Basic realm="eider"'],
      ["/opaque", 'Bearer realm="eider", Basic realm="eider"'],
    ] as const) {
      const seen = new Set<string>();
      for (const authorization of [
        undefined,
        "",
        "Basic",
        "Basic !!!",
        basic("alice", "wrong"),
        basic("nobody", "x"),
        "Bearer x",
      ]) {
        const headers = {
          "X-Request-Id": "id",
          ...(authorization === undefined ? {} : { Authorization: authorization }),
        };
        const answer = await sendRequest(service.url + path, { headers });
        expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, challenge]);
        const { date: _, ...rest } = answer.headers;
        seen.add(JSON.stringify([rest, answer.body.toString()]));
      }
      expect([...seen]).toHaveLength(1);
    }
  });

  test("comes before validation and SQL", async () => {
    const send = (body: string, headers: Record<string, string> = {}) =>
      service.request("/write", { method: "POST", body, headers: { "Content-Type": "application/json", ...headers } });
    expect((await send('{"i":"not a number"}')).status).toBe(401);
    expect((await send("not json")).status).toBe(401);
    expect((await send('{"i":1}', { "Content-Type": "text/plain" })).status).toBe(401);
    expect((await send('{"i":1}', { Authorization: basic("alice", "wrong") })).status).toBe(401);
    expect(await service.json("/calls")).toEqual([{ n: 0 }]);
    const authorization = basic("alice", "päss:word");
    expect((await send('{"i":"not a number"}', { Authorization: authorization })).status).toBe(400);
    expect((await send('{"i":1}', { Authorization: authorization })).status).toBe(200);
    expect(await service.json("/calls")).toEqual([{ n: 1 }]);
  });

  test("an unknown path and /health need no credentials", async () => {
    expect((await service.get("/nowhere")).status).toBe(404);
    expect((await service.get("/health")).status).toBe(200);
    expect((await service.request("/who", { method: "OPTIONS" })).status).toBe(204);
    expect((await service.request("/who", { method: "HEAD" })).status).toBe(401);
  });
});

describe("basic", () => {
  test("three kinds of passwords, both alphabets, padded or not", async () => {
    for (const [user, password] of [
      ["alice", "päss:word"],
      ["md5", "password"],
      ["plain", "with:colon"],
    ] as const) {
      for (const alphabet of ["base64", "base64url"] as const) {
        const token = Buffer.from(`${user}:${password}`).toString(alphabet);
        for (const text of [token, token.replace(/=+$/, ""), token.padEnd(Math.ceil(token.length / 4) * 4, "=")]) {
          expect([text, (await get("/who", `Basic ${text}`))[0]]).toEqual([text, 200]);
          expect([text, (await get("/who", `bAsIc ${text}`))[0]]).toEqual([text, 200]);
        }
      }
      expect((await get("/who", basic(user, `${password}x`)))[0]).toBe(401);
      expect((await get("/who", basic(user.toUpperCase(), password)))[0]).toBe(401);
    }
  });

  test("a hash is no password", async () => {
    expect((await get("/who", basic("alice", HASH)))[0]).toBe(401);
    expect((await get("/who", basic("md5", "5f4dcc3b5aa765d61d8327deb882cf99")))[0]).toBe(401);
  });

  test("two Authorization headers are none", async () => {
    const { status } = await sendRequest(`${service.url}/who`, {
      headers: { Authorization: [basic("alice", "päss:word"), basic("alice", "päss:word")] as unknown as string },
    });
    expect(status).toBe(401);
  });

  test("warnings at start for what is weak", () => {
    expect(service.problems.filter((line) => line.startsWith("eider.yaml"))).toEqual([
      expect.stringMatching(/users\[1\]\.password: an MD5 hash is deprecated.*eider hash-password/),
      expect.stringMatching(/users\[2\]\.password: a plain password is for local demos only.*eider hash-password/),
    ]);
    expect(service.problems.join()).not.toContain("with:colon");
  });
});

describe("bearer", () => {
  const now = Math.floor(Date.now() / 1000);
  const good = { sub: "carol", iss: "issuer", roles: ["x", "y"], exp: now + 600 };

  test("HS256 with its claims", async () => {
    const expected = { ...ANONYMOUS, username: "carol", type: "bearer", authenticated: true, section: "in" };
    expect(await get("/bearer", `Bearer ${jwt(good)}`)).toEqual([200, [{ ...expected, roles: "x,y" }]]);
    expect(await get("/bearer", `bearer ${jwt({ ...good, roles: "solo" })}`)).toEqual([
      200,
      [{ ...expected, roles: "solo" }],
    ]);
    expect(await get("/bearer", `Bearer ${jwt({ sub: "carol", iss: "issuer" })}`)).toEqual([200, [expected]]);
  });

  test.each<[string, string]>([
    ["another secret", jwt(good, {}, "another secret of thirty-two bytes")],
    ["expired", jwt({ ...good, exp: now - 1 })],
    ["exp as text", jwt({ ...good, exp: String(now + 600) })],
    ["not yet", jwt({ ...good, nbf: now + 600 })],
    ["another issuer", jwt({ ...good, iss: "other" })],
    ["no issuer", jwt({ sub: "carol" })],
    ["no sub", jwt({ iss: "issuer" })],
    ["sub as number", jwt({ ...good, sub: 5 })],
    ["roles as object", jwt({ ...good, roles: { a: 1 } })],
    ["alg none", `${jwt(good, { alg: "none" }).split(".").slice(0, 2).join(".")}.`],
    ["alg none with a signature", jwt(good, { alg: "none" })],
    ["alg HS512 in name", jwt(good, { alg: "HS512" })],
    ["crit", jwt(good, { crit: ["x"], x: 1 })],
    ["no dots", "abc"],
    ["five parts", "a.b.c.d.e"],
    ["empty parts", ".."],
    [
      "changed payload",
      jwt(good).replace(
        /\.[^.]+\./,
        `.${Buffer.from(JSON.stringify({ ...good, sub: "root" })).toString("base64url")}.`,
      ),
    ],
    ["long", "a".repeat(10_000)],
  ])("401: %s", async (_, token) => {
    expect(await get("/bearer", `Bearer ${token}`)).toEqual([401, { error: "Unauthorized" }]);
  });

  test("opaque tokens, each with its user", async () => {
    const expected = { ...ANONYMOUS, type: "bearer", authenticated: true, section: "in" };
    expect(await get("/opaque", `Bearer ${SECRET}`)).toEqual([200, [{ ...expected, username: "robot", roles: "a,b" }]]);
    expect(await get("/opaque", `Bearer nobody-${SECRET}`)).toEqual([200, [expected]]);
    expect((await get("/opaque", `Bearer ${SECRET}x`))[0]).toBe(401);
    expect((await get("/opaque", `Basic ${SECRET}`))[0]).toBe(401);
  });
});

test("nothing that a client sends sets or shadows auth.*", async () => {
  const yaml = `request:
  - { field-name: username, field-in: query }
  - { field-name: auth_username, field-in: header }
`;
  await using tried = await serviceFrom({
    "eider.yaml": main,
    ...who("who", yaml),
    ...who("open", `auth: { enabled: false }\n${yaml}`),
    ...who(
      "post",
      `method: POST\noperation: { type: Read }\nauth: { enabled: false }\nrequest: [{ field-name: username, field-in: body }]\n`,
    ),
  });
  const query =
    "auth.username=root&auth%2Eusername=root&auth[username]=root&username=root&auth.roles=admin&auth.authenticated=true";
  const headers = {
    "auth.username": "root",
    auth_username: "root",
    "auth-username": "root",
    "x-auth-username": "root",
  };
  const alice = { Authorization: basic("alice", "päss:word") };
  expect(await (await tried.get(`/who?${query}`, { ...headers, ...alice })).json()).toMatchObject([
    { username: "alice", roles: "admin,read" },
  ]);
  expect(await (await tried.get(`/open?${query}`, headers)).json()).toEqual([ANONYMOUS]);
  const body = JSON.stringify({
    username: "root",
    "auth.username": "root",
    auth: { username: "root", authenticated: true },
  });
  const posted = await tried.request("/post", {
    method: "POST",
    body,
    headers: { "Content-Type": "application/json", ...headers },
  });
  expect(await posted.json()).toEqual([ANONYMOUS]);
});

test("what is remembered of one caller is never given to another", async () => {
  for (let time = 0; time < 4; time++) {
    expect(await get("/who", basic("alice", "päss:word"))).toMatchObject([200, [{ username: "alice" }]]);
    expect(await get("/who", basic("md5", "password"))).toMatchObject([200, [{ username: "md5" }]]);
    expect((await get("/who"))[0]).toBe(401);
    expect((await get("/who", basic("alice", "wrong")))[0]).toBe(401);
  }
});
