import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audience, client, makeKeys, startProvider, type TestProvider } from "../oidc-provider.ts";
import { serviceFrom, type TestService } from "../service.ts";

/** The provider signs a token for each of these audiences in another way. */
const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"];
const WHO =
  "SELECT '{{{auth.username}}}' AS username, '{{{auth.roles}}}' AS roles, '{{{auth.groups}}}' AS groups, '{{{auth.email}}}' AS email, '{{{auth.type}}}' AS type";

let provider: TestProvider;
let service: TestService;
const open = (issuer: string, more = ""): Promise<TestService> =>
  serviceFrom({
    "eider.yaml": `connections: { db: {} }
auth:
  type: oidc
  oidc:
    issuer-url: ${issuer}
    client-id: ${client.id}
    client-secret: ${client.secret}
    allowed-audiences: [${ALGORITHMS.map((name) => `"${audience}${name}"`).join(", ")}]
    role-claim-path: realm_access.roles
    scopes: [read]
    enable-client-credentials: true
    enable-refresh-tokens: true
${more}`,
    "who.yaml": "url-path: /who\ntemplate-source: who.sql\nconnection: [db]\nwith-pagination: false\n",
    "who.sql": WHO,
  });
beforeAll(async () => {
  provider = await startProvider();
  service = await open(provider.issuer);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const get = async (token: string, at = service): Promise<readonly [number, unknown]> => {
  const answer = await at.get("/who", { Authorization: `Bearer ${token}` });
  return [answer.status, await answer.json()];
};

const claims = (): Record<string, unknown> => ({
  iss: provider.issuer,
  aud: `${audience}RS256`,
  sub: "alice",
  email: "alice@example.com",
  groups: ["staff", "dev"],
  realm_access: { roles: ["admin", "read"] },
  exp: Math.floor(Date.now() / 1000) + 600,
});

describe("over REST, with a real provider", () => {
  test.each(ALGORITHMS)("tokens that it issued itself: %s", async (algorithm) => {
    expect(await get(await provider.issue(algorithm))).toMatchObject([200, [{ username: client.id, type: "oidc" }]]);
  });

  test("all claims of the table reach the template", async () => {
    const expected = {
      username: "alice",
      roles: "admin,read",
      groups: "staff,dev",
      email: "alice@example.com",
      type: "oidc",
    };
    expect(await get(await provider.sign(claims(), { alg: "RS256", kid: "rsa" }))).toEqual([200, [expected]]);
  });

  test("an ID token is no access token, though the provider signed both for the same user", async () => {
    const answer = await fetch(`${provider.issuer}/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa([client.id, client.secret].map(encodeURIComponent).join(":"))}` },
      body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: await provider.refreshToken("ada") }),
    });
    const { access_token, id_token } = (await answer.json()) as Record<string, string>;
    expect(await get(access_token ?? "")).toMatchObject([200, [{ username: "ada" }]]);
    expect(id_token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(await get(id_token ?? "")).toEqual([401, { error: "Unauthorized" }]);
    // Keycloak may give both the same audience; it tells them apart by `typ`.
    const sign = (typ: string) => provider.sign({ ...claims(), typ }, { alg: "RS256", kid: "rsa" });
    expect((await get(await sign("Bearer")))[0]).toBe(200);
    expect(await get(await sign("ID"))).toEqual([401, { error: "Unauthorized" }]);
  });

  test("a 401 names Bearer first", async () => {
    const answer = await service.get("/who");
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer realm="eider", Basic realm="eider"',
    ]);
    const wrong = await provider.sign({ ...claims(), aud: "other" }, { alg: "RS256", kid: "rsa" });
    expect(await get(wrong)).toEqual([401, { error: "Unauthorized" }]);
  });

  test("keys that are rotated, a provider that goes away and comes back", async () => {
    await using other = await startProvider();
    await using served = await open(other.issuer);
    const good = async () =>
      other.sign({ ...claims(), iss: other.issuer, jti: crypto.randomUUID() }, { alg: "ES256", kid: "p256" });
    expect((await get(await good(), served))[0]).toBe(200);
    await other.stop();
    expect((await get(await good(), served))[0]).toBe(200);
    await other.start();
    other.rotate(makeKeys("-new"));
    const fresh = await other.sign({ ...claims(), iss: other.issuer }, { alg: "ES256", kid: "p256-new" });
    expect((await get(fresh, served))[0]).toBe(200);
  });

  test("a provider that was never reached: 503, and 200 as soon as it is there", async () => {
    await using other = await startProvider();
    const token = await other.sign({ ...claims(), iss: other.issuer }, { alg: "RS256", kid: "rsa" });
    await other.stop();
    await using served = await open(other.issuer);
    const answer = await served.get("/who", { Authorization: `Bearer ${token}` });
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { error: "Service Unavailable: the identity provider cannot be reached" },
    ]);
    expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
    await other.start();
    await expect.poll(async () => (await get(token, served))[0], { interval: 200 }).toBe(200);
  });
});

describe("POST /auth/token", () => {
  async function exchange(form: Record<string, string>, headers: Record<string, string> = {}, at = service) {
    const answer = await at.request("/auth/token", { method: "POST", body: new URLSearchParams(form), headers });
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
  }

  test("client credentials need Eider's own secret", async () => {
    expect(await exchange({ grant_type: "client_credentials" })).toMatchObject({
      status: 401,
      body: { error: "invalid_client" },
    });
    const wrong = { grant_type: "client_credentials", client_id: client.id, client_secret: "wrong" };
    expect(await exchange(wrong)).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    const { status, headers, body } = await exchange({
      grant_type: "client_credentials",
      client_id: client.id,
      client_secret: client.secret,
      resource: `${audience}RS256`,
    });
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(await get(String(body["access_token"]))).toMatchObject([200, [{ username: client.id }]]);
  });

  test("a refresh token is exchanged", async () => {
    const token = await provider.refreshToken("bob");
    const { status, body } = await exchange({ grant_type: "refresh_token", refresh_token: token });
    expect(status).toBe(200);
    expect(typeof body["access_token"]).toBe("string");
    expect(await exchange({ grant_type: "refresh_token", refresh_token: "made-up" })).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
  });

  test("other grants, other bodies, other methods", async () => {
    expect(await exchange({ grant_type: "password", username: "a", password: "b" })).toMatchObject({
      status: 400,
      body: { error: "unsupported_grant_type" },
    });
    expect(await exchange({})).toMatchObject({ status: 400, body: { error: "invalid_request" } });
    const json = await service.request("/auth/token", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{}",
    });
    expect([json.status, (await json.json()) as unknown]).toMatchObject([400, { error: "invalid_request" }]);
    const read = await service.get("/auth/token");
    expect([read.status, read.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
    const large = await service.request("/auth/token", {
      method: "POST",
      body: new URLSearchParams({ grant_type: "x".repeat(100_000) }),
    });
    expect(large.status).toBe(413);
  });

  test("the global rate limit holds for it too", async () => {
    await using limited = await open(provider.issuer, "rate-limit: { max: 2, interval: 60 }\n");
    const wrong = { grant_type: "client_credentials", client_id: client.id, client_secret: "wrong" };
    const statuses = [];
    for (let time = 0; time < 3; time++) {
      const answer = await limited.request("/auth/token", { method: "POST", body: new URLSearchParams(wrong) });
      statuses.push(answer.status);
    }
    expect(statuses).toEqual([401, 401, 429]);
  });

  test("without an exchange there is no such path", async () => {
    await using plain = await serviceFrom({
      "eider.yaml": `connections: { db: {} }\nauth: { type: bearer, token: "${"x".repeat(32)}" }\n`,
      "who.yaml": "url-path: /who\ntemplate-source: who.sql\nconnection: [db]\n",
      "who.sql": WHO,
    });
    expect((await plain.request("/auth/token", { method: "POST" })).status).toBe(404);
  });
});
