import type { RequestListener } from "node:http";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { audience, client, makeKey, type OpenedOidc, openAgainst, startProvider } from "../../../test/oidc-provider.ts";
import { until } from "../../../test/until.ts";
import type { OidcPolicy } from "../policy.ts";
import type { ExchangeResponse } from "./token-exchange.ts";

const key = makeKey("rsa", "rsa");
const provider = await startProvider([key]);
afterAll(() => provider[Symbol.asyncDispose]());
afterEach(() => provider.instead.clear());

const target = `${audience}RS256`;

const opened = (changes: Partial<OidcPolicy> = {}, issuer = provider.issuer): OpenedOidc =>
  openAgainst(issuer, {
    scopes: ["read", "write"],
    audiences: [target],
    exchanges: { clientCredentials: true, refreshTokens: true },
    ...changes,
  });

async function exchange(oidc: OpenedOidc, form: Form, authorization?: string): Promise<ExchangeResponse> {
  const answer = await oidc.oidc.exchange?.(new URLSearchParams(form), authorization);
  if (answer === undefined) throw new Error("no exchange is enabled");
  expect(answer.headers).toMatchObject({ "content-type": "application/json", "cache-control": "no-store" });
  expect(JSON.stringify([answer, oidc.events])).not.toContain(client.secret);
  return answer;
}

type Form = Record<string, string> | string;

const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
const ours = basic(`${client.id}:${client.secret}`);
const ourForm = { client_id: client.id, client_secret: client.secret };
const wanted = { grant_type: "client_credentials", resource: target };

test("without an enabled exchange there is none", () => {
  using off = opened({ exchanges: { clientCredentials: false, refreshTokens: false } });
  using secretless = opened({ clientSecret: undefined });
  expect([off.oidc.exchange, secretless.oidc.exchange]).toEqual([undefined, undefined]);
});

describe("client credentials", () => {
  test.each<[string, Form, string | undefined]>([
    ["Basic", wanted, ours],
    ["Basic, form-encoded", wanted, basic(`${client.id}:the+secret%20of+the%20client`)],
    ["basic, with the name in the form too", { ...wanted, client_id: client.id }, ours.replace("Basic", "basic")],
    ["the form", { ...wanted, ...ourForm }, undefined],
  ])("by %s: a token that is taken", async (_, form, authorization) => {
    using oidc = opened();
    const answer = await exchange(oidc, form, authorization);
    expect(answer.status).toBe(200);
    const tokens = JSON.parse(answer.body);
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: "Bearer",
      expires_in: 600,
      scope: "read write",
    });
    const shown = await oidc.show(tokens.access_token);
    expect(shown.kind === "identity" && shown.identity.get("username")?.value).toBe(client.id);
  });

  test("fewer scopes than ours", async () => {
    using oidc = opened();
    const { body } = await exchange(oidc, { ...wanted, scope: "write" }, ours);
    expect(JSON.parse(body)).toMatchObject({ scope: "write" });
  });

  test.each<[string, Form, string | undefined]>([
    ["nobody", wanted, undefined],
    ["a wrong secret", wanted, basic(`${client.id}:wrong`)],
    ["an empty secret", wanted, basic(`${client.id}:`)],
    ["a longer secret", wanted, basic(`${client.id}:${client.secret}x`)],
    ["a wrong name", wanted, basic(`other:${client.secret}`)],
    ["a wrong name in the form", { ...wanted, client_id: "other" }, ours],
    ["no colon", wanted, basic(client.id)],
    ["a broken encoding", wanted, basic(`${client.id}:%zz`)],
    ["no base64", wanted, "Basic ?"],
    ["a bearer", wanted, "Bearer abc"],
    ["an empty header", wanted, ""],
    ["a wrong secret in the form", { ...wanted, client_id: client.id, client_secret: "wrong" }, undefined],
    ["a secret without a name", { ...wanted, client_secret: client.secret }, undefined],
    ["a name without a secret", { ...wanted, client_id: client.id }, undefined],
    ["an empty secret in the form", { ...wanted, client_id: client.id, client_secret: "" }, undefined],
  ])("by %s: refused", async (_, form, authorization) => {
    using oidc = opened();
    const asked = provider.requestCount("/token");
    const answer = await exchange(oidc, form, authorization);
    expect([answer.status, answer.body]).toEqual([401, '{"error":"invalid_client"}']);
    expect(answer.headers["www-authenticate"]).toBe('Basic realm="eider"');
    expect(provider.requestCount("/token")).toBe(asked);
  });

  test("a provider that takes our secret in the form only", async () => {
    const shown: string[] = [];
    provider.instead.set("/token", async (request, response) => {
      shown.push(request.headers.authorization === undefined ? "form" : "Basic");
      if (request.headers.authorization !== undefined) {
        return void response.writeHead(401).end('{"error":"invalid_client"}');
      }
      const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString());
      expect(Object.fromEntries(form)).toEqual({ ...wanted, ...ourForm, scope: "read write" });
      response.end('{"access_token":"a","token_type":"Bearer"}');
    });
    using oidc = opened();
    // Once is enough to learn it.
    for (let i = 0; i < 2; i++) expect((await exchange(oidc, wanted, ours)).status).toBe(200);
    expect(shown).toEqual(["Basic", "form", "form"]);
    expect(oidc.events).toEqual([]);
    // The method is found again when the provider rejects it.
    provider.instead.set("/token", (request, response) => {
      const isBasic = request.headers.authorization !== undefined;
      const body = isBasic ? '{"access_token":"a","token_type":"Bearer"}' : '{"error":"invalid_client"}';
      response.writeHead(isBasic ? 200 : 401).end(body);
    });
    expect((await exchange(oidc, wanted, ours)).status).toBe(400);
    expect((await exchange(oidc, wanted, ours)).status).toBe(200);
    expect(oidc.events.map(({ kind }) => kind)).toEqual(["dependency-down", "dependency-up"]);
  });
});

describe("refresh tokens", () => {
  test("a client that holds one gets new tokens", async () => {
    using oidc = opened({ audiences: [target, client.id] });
    const first = await provider.refreshToken("ada");
    const answer = await exchange(oidc, { grant_type: "refresh_token", refresh_token: first });
    expect(answer.status).toBe(200);
    const tokens = JSON.parse(answer.body);
    expect(tokens).toMatchObject({ token_type: "Bearer", expires_in: 600, refresh_token: expect.any(String) });
    for (const token of [tokens.access_token, tokens.id_token]) {
      const shown = await oidc.show(token);
      expect(shown.kind === "identity" && shown.identity.get("username")?.value).toBe("ada");
    }
    const again = await exchange(oidc, { grant_type: "refresh_token", refresh_token: tokens.refresh_token });
    expect(again.status).toBe(200);
  });

  test.each<[string, Form, string | undefined]>([
    ["its name", { client_id: client.id }, undefined],
    ["its name and secret", ourForm, undefined],
    ["Basic", {}, ours],
  ])("a client may show %s", async (_, form, authorization) => {
    using oidc = opened();
    const refresh_token = await provider.refreshToken("ada");
    const all = { grant_type: "refresh_token", refresh_token, scope: "read", ...Object(form) };
    expect((await exchange(oidc, all, authorization)).status).toBe(200);
  });

  test.each<[string, Form, string | undefined]>([
    ["another name", { client_id: "other" }, undefined],
    ["a wrong secret", { client_id: client.id, client_secret: "wrong" }, undefined],
    ["a wrong Basic", {}, basic(`${client.id}:wrong`)],
    ["a bearer", {}, "Bearer abc"],
  ])("a client that shows %s is refused", async (_, form, authorization) => {
    using oidc = opened();
    const refresh_token = await provider.refreshToken("ada");
    const all = { grant_type: "refresh_token", refresh_token, ...Object(form) };
    expect((await exchange(oidc, all, authorization)).status).toBe(401);
  });

  test("one that is made up or used up is refused with the provider's own code", async () => {
    using oidc = opened();
    const refused = { status: 400, body: '{"error":"invalid_grant"}' };
    const madeUp = { grant_type: "refresh_token", refresh_token: "made-up" };
    expect(await exchange(oidc, madeUp)).toMatchObject(refused);
    expect(oidc.events).toEqual([]);
  });
});

test.each<[string, Form, string]>([
  ["no grant type", {}, "invalid_request"],
  ["an empty grant type", { grant_type: "" }, "invalid_request"],
  ["a grant type twice", "grant_type=refresh_token&grant_type=client_credentials", "invalid_request"],
  ["anything twice", "grant_type=refresh_token&refresh_token=a&x=1&x=2", "invalid_request"],
  ["another grant type", { grant_type: "password", username: "a", password: "b" }, "unsupported_grant_type"],
  ["a grant type of an object", { grant_type: "constructor" }, "unsupported_grant_type"],
  ["the secret twice", { ...wanted, ...ourForm }, "invalid_request"],
  ["no refresh token", { grant_type: "refresh_token" }, "invalid_request"],
  ["an empty refresh token", { grant_type: "refresh_token", refresh_token: "" }, "invalid_request"],
  ["a scope that is not ours", { ...wanted, scope: "read admin" }, "invalid_scope"],
  ["two spaces", { ...wanted, scope: "read  write" }, "invalid_scope"],
  ["another resource", { ...wanted, resource: "https://evil.test" }, "invalid_target"],
  ["another audience", { ...wanted, audience: "https://evil.test" }, "invalid_target"],
])("%s: 400", async (_, form, error) => {
  using oidc = opened();
  const asked = provider.requestCount("/token");
  expect(await exchange(oidc, form, ours)).toMatchObject({ status: 400, body: JSON.stringify({ error }) });
  expect(provider.requestCount("/token")).toBe(asked);
});

test.each<[OidcPolicy["exchanges"], string]>([
  [{ clientCredentials: false, refreshTokens: true }, "client_credentials"],
  [{ clientCredentials: true, refreshTokens: false }, "refresh_token"],
])("%j: %s is not supported", async (exchanges, grant_type) => {
  using oidc = opened({ exchanges });
  expect(await exchange(oidc, { grant_type, refresh_token: "a" }, ours)).toMatchObject({
    status: 400,
    body: '{"error":"unsupported_grant_type"}',
  });
});

describe("a provider", () => {
  const says = (status: number, body: unknown, headers: Record<string, string> = {}): RequestListener => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return (_, response) => void response.writeHead(status, headers).end(text);
  };
  const unavailable = { status: 503, body: '{"error":"temporarily_unavailable"}' };
  const good = { access_token: "a", token_type: "Bearer" };

  test("that was never reached", async () => {
    using oidc = opened({}, "http://127.0.0.1:1");
    const answer = await exchange(oidc, wanted, ours);
    expect(answer).toMatchObject(unavailable);
    expect(answer.headers["retry-after"]).toBe("5");
    expect(oidc.events).toHaveLength(1);
  });

  test("that goes down and comes back is reported once each", async () => {
    await using other = await startProvider([key]);
    using oidc = opened({}, other.issuer);
    expect((await exchange(oidc, wanted, ours)).status).toBe(200);
    await other.stop();
    for (let i = 0; i < 3; i++) expect(await exchange(oidc, wanted, ours)).toMatchObject(unavailable);
    await other.start();
    for (let i = 0; i < 3; i++) expect((await exchange(oidc, wanted, ours)).status).toBe(200);
    expect(oidc.events.map(({ kind }) => kind)).toEqual(["dependency-down", "dependency-up"]);
  });

  test.each<[string, number, unknown, object]>([
    ["tokens", 200, good, { status: 200, body: JSON.stringify(good) }],
    ["tokens and more", 200, { ...good, secret: client.secret }, { status: 200, body: JSON.stringify(good) }],
    ["seconds as text", 200, { ...good, expires_in: "60" }, { body: JSON.stringify({ ...good, expires_in: 60 }) }],
    ["members of other types", 200, { ...good, scope: [], refresh_token: 7, expires_in: {} }, { status: 200 }],
    ["no token", 200, { token_type: "Bearer" }, unavailable],
    ["a token that is none", 200, { ...good, access_token: 7 }, unavailable],
    ["no JSON", 200, "<html>", unavailable],
    ["an error with status 200", 200, { error: "invalid_grant" }, unavailable],
    [
      "an error and a description",
      400,
      { error: "invalid_grant", error_description: client.secret },
      {
        status: 400,
        body: '{"error":"invalid_grant"}',
      },
    ],
    [
      "an error with another status",
      403,
      { error: "access_denied" },
      { status: 400, body: '{"error":"access_denied"}' },
    ],
    ["an error that is no code", 400, { error: "<script>" }, unavailable],
    ["an error that is no text", 400, { error: 7 }, unavailable],
    ["a refusal without a reason", 403, "no", unavailable],
    ["trouble", 500, { error: "invalid_grant" }, unavailable],
    ["too much", 200, { ...good, x: "x".repeat(1024 * 1024) }, unavailable],
  ])("that says %s (%i)", async (_, status, body, expected) => {
    provider.instead.set("/token", says(status, body));
    using oidc = opened();
    expect(await exchange(oidc, wanted, ours)).toMatchObject(expected);
    expect(oidc.events.map(({ kind }) => kind)).toEqual(expected === unavailable ? ["dependency-down"] : []);
  });

  test("that sends us elsewhere is not followed with our secret", async () => {
    provider.instead.set("/token", says(307, "", { location: `${provider.issuer}/elsewhere` }));
    using oidc = opened();
    expect(await exchange(oidc, wanted, ours)).toMatchObject(unavailable);
    expect(provider.requestCount("/elsewhere")).toBe(0);
  });

  test("that does not know our secret: the operator hears of it, the caller is not blamed", async () => {
    using oidc = opened({ clientSecret: "an old secret" });
    const answer = await exchange(oidc, wanted, basic(`${client.id}:an old secret`));
    expect(answer).toMatchObject({ status: 400, body: '{"error":"invalid_client"}' });
    expect(oidc.events).toEqual([
      {
        kind: "dependency-down",
        dependency: `oidc token endpoint of ${provider.issuer}`,
        message: expect.stringContaining("rejects the configured client-id and client-secret"),
      },
    ]);
  });

  test("without a token endpoint", async () => {
    const document = { issuer: provider.issuer, jwks_uri: `${provider.issuer}/jwks` };
    provider.instead.set("/.well-known/openid-configuration", says(200, document));
    using oidc = opened();
    expect(await exchange(oidc, wanted, ours)).toMatchObject(unavailable);
  });

  test("is not flooded by strangers", async () => {
    const waiting: (() => void)[] = [];
    provider.instead.set("/token", (request, response) => {
      waiting.push(() => says(400, { error: "invalid_grant" })(request, response));
    });
    using oidc = opened();
    const form = { grant_type: "refresh_token", refresh_token: "made-up" };
    const flood = Promise.all(Array.from({ length: 100 }, () => exchange(oidc, form)));
    await until("the first are asked about", () => waiting.length === 32);
    for (const finish of waiting) finish();
    const statuses = (await flood).map(({ status }) => status);
    expect(statuses.filter((status) => status === 400)).toHaveLength(32);
    expect(statuses.filter((status) => status === 503)).toHaveLength(68);
  });
});
