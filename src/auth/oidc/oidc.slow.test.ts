import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { CompactEncrypt, CompactSign, importJWK, type JWK } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  audience,
  makeKey,
  makeKeys,
  type OpenedOidc,
  openAgainst,
  startProvider,
} from "../../../test/oidc-provider.ts";
import type { AuthenticationResult } from "../authenticator.ts";
import type { OidcPolicy } from "../policy.ts";

const keys = makeKeys();
const provider = await startProvider(keys);
afterAll(() => provider[Symbol.asyncDispose]());

const refused = { kind: "refused", failure: { kind: "unauthorized", scheme: "bearer" } };

/** What templates see, or why there is nothing to see. */
function seen(answer: AuthenticationResult): unknown {
  if (answer.kind === "refused") return answer.failure.kind;
  return Object.fromEntries([...answer.identity].map(([name, { value }]) => [name, value]));
}

const base64 = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

const claimsOf = ({ now }: Pick<OpenedOidc, "now">): Readonly<Record<string, unknown>> => ({
  iss: provider.issuer,
  sub: "ada",
  aud: `${audience}RS256`,
  exp: Math.floor(now() / 1000) + 600,
});

const keyOf = (kid: string): JWK => {
  const found = keys.find((key) => key.kid === kid);
  if (found === undefined) throw new Error(`no key ${kid}`);
  return found;
};

/** Signs any bytes with any header: what a library for tokens would not do. */
async function signRaw(payload: string | Uint8Array, header: object, key: JWK = keyOf("rsa")): Promise<string> {
  const bytes = typeof payload === "string" ? Buffer.from(payload) : payload;
  const full = { alg: "RS256", kid: "rsa", ...header };
  const sign = new CompactSign(bytes).setProtectedHeader(full);
  return await sign.sign(await importJWK(key, full.alg), { crit: { "urn:eider": false, exp: false } });
}

describe("tokens that the provider issued", () => {
  test.each(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"])(
    "%s",
    async (algorithm) => {
      using opened = openAgainst(provider.issuer, { audiences: [audience + algorithm] });
      const token = await provider.issue(algorithm);
      expect(seen(await opened.show(token))).toEqual({
        type: "oidc",
        authenticated: true,
        username: "eider",
        email: "ada@example.com",
        roles: "reader,writer",
      });
      using elsewhere = openAgainst(provider.issuer, { audiences: [`${audience}other`] });
      expect(await elsewhere.show(token)).toEqual(refused);
      const [head, body, signature = ""] = token.split(".");
      const first = signature.startsWith("A") ? "B" : "A";
      expect(await opened.show(`${head}.${body}.${first}${signature.slice(1)}`)).toEqual(refused);
    },
  );

  test("keys that name no algorithm and tokens that name no key", async () => {
    using opened = openAgainst(provider.issuer);
    for (const [alg, kid] of [
      ["PS256", "rsa"],
      ["ES384", "p384"],
      ["EdDSA", "ed25519"],
    ] as const) {
      const [, body] = (await provider.sign(claimsOf(opened), { alg, kid })).split(".");
      const unnamed = await signRaw(Buffer.from(body ?? "", "base64url"), { alg, kid: undefined }, keyOf(kid));
      expect(seen(await opened.show(unnamed))).toMatchObject({ username: "ada" });
    }
  });

  test.each<[string, object, Record<string, string>]>([
    ["null as roles, groups and e-mail address", { roles: null, groups: null, email: null }, {}],
    ["null as nested roles", { realm_access: { roles: null } }, {}],
    ["null where roles are nested", { realm_access: null, roles: ["a"] }, { roles: "a" }],
    [
      "commas in names",
      { realm_access: { roles: ["a,b", "c"] }, groups: ["x,y", "a%2Cb"] },
      { roles: "a%2Cb,c", groups: "x%2Cy,a%252Cb" },
    ],
    ["an access token of Keycloak", { typ: "Bearer" }, {}],
    // What a Google ID token has: it is all that Google signs, and many APIs take it.
    ["marks of an ID token that access tokens may have", { nonce: "n", at_hash: "h", azp: "a" }, {}],
  ])("%s", async (_, changes, expected) => {
    using opened = openAgainst(provider.issuer, { roleClaimPath: "realm_access.roles" });
    const token = await signRaw(JSON.stringify({ ...claimsOf(opened), ...changes }), {});
    const identity = { type: "oidc", authenticated: true, username: "ada", ...expected };
    expect(seen(await opened.show(token))).toEqual(identity);
    const events = Object.values(expected).some((text) => text.includes("%2C"))
      ? [{ kind: "comma-in-name", variable: "roles" }]
      : [];
    expect(opened.events).toEqual(events);
  });

  test.each(["JWT", "jwt", "at+jwt", "application/at+jwt", undefined])("of type %s", async (typ) => {
    using opened = openAgainst(provider.issuer);
    const token = await signRaw(JSON.stringify(claimsOf(opened)), { typ });
    expect(seen(await opened.show(token))).toMatchObject({ username: "ada" });
  });

  test("the scheme may be written in any case; nothing else than a bearer is looked at", async () => {
    using opened = openAgainst(provider.issuer);
    const token = await provider.issue("RS256");
    const shown = (authorization: string | undefined) => opened.oidc.authenticate({ authorization });
    expect((await shown(`bearer  ${token}`)).kind).toBe("identity");
    const asked = provider.requestCount("/jwks");
    for (const wrong of [undefined, "", token, `Basic ${token}`, `Bearer ${token} x`, "Bearer ", `Bearer ${token},`]) {
      expect(shown(wrong)).toEqual(refused);
    }
    expect(shown(`Bearer ${"a".repeat(20_000)}`)).toEqual(refused);
    expect(provider.requestCount("/jwks")).toBe(asked);
  });
});

describe("bad tokens", () => {
  let trap: { readonly url: string; readonly asked: () => number; close(): void };
  const evil = makeKey("rsa", "rsa");
  beforeAll(async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.end(JSON.stringify({ keys: [{ kty: evil.kty, n: evil.n, e: evil.e, kid: "rsa" }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    trap = { url: `http://127.0.0.1:${port}/keys`, asked: () => asked, close: () => void server.close() };
  });
  afterAll(() => trap.close());

  async function publicPem(): Promise<string> {
    const { createPublicKey } = await import("node:crypto");
    return String(createPublicKey({ key: { ...keyOf("rsa") }, format: "jwk" }).export({ format: "pem", type: "spki" }));
  }

  function hmac(header: object, claims: object, secret: string): string {
    const text = `${base64(header)}.${base64(claims)}`;
    return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
  }

  type Make = (claims: Readonly<Record<string, unknown>>) => string | Promise<string>;
  const withClaims =
    (changes: object): Make =>
    (claims) =>
      signRaw(JSON.stringify({ ...claims, ...changes }), {});
  const withHeader =
    (changes: object): Make =>
    (claims) =>
      signRaw(JSON.stringify(claims), changes);
  const evilHeader =
    (changes: () => object): Make =>
    (claims) =>
      signRaw(JSON.stringify(claims), changes(), evil);

  const made: readonly (readonly [string, Make])[] = [
    ["alg none, no signature", (claims) => `${base64({ alg: "none" })}.${base64(claims)}.`],
    ["alg none, some signature", (claims) => `${base64({ alg: "none", kid: "rsa" })}.${base64(claims)}.AAAA`],
    ["alg NoNe", (claims) => `${base64({ alg: "NoNe" })}.${base64(claims)}.AAAA`],
    ["no alg", (claims) => `${base64({ kid: "rsa" })}.${base64(claims)}.AAAA`],
    ["alg as a list", (claims) => `${base64({ alg: ["RS256"], kid: "rsa" })}.${base64(claims)}.AAAA`],
    ["HS256 with the public key", async (claims) => hmac({ alg: "HS256", kid: "rsa" }, claims, await publicPem())],
    ["HS256 with the modulus", (claims) => hmac({ alg: "HS256", kid: "rsa" }, claims, String(keyOf("rsa").n))],
    ["HS256, no kid", async (claims) => hmac({ alg: "HS256" }, claims, await publicPem())],
    [
      "another algorithm than signed",
      async (claims) => {
        const [, body, signature] = (await withClaims({})(claims)).split(".");
        return `${base64({ alg: "RS512", kid: "rsa" })}.${body}.${signature}`;
      },
    ],
    ["ES256 with the kid of an RSA key", (claims) => signRaw(JSON.stringify(claims), { alg: "ES256" }, keyOf("p256"))],
    ["signed by a stranger", evilHeader(() => ({}))],
    ["signed by a stranger, no kid", evilHeader(() => ({ kid: undefined }))],
    ["kid as a path", evilHeader(() => ({ kid: "../../../../dev/null" }))],
    ["kid as an address", evilHeader(() => ({ kid: trap.url }))],
    ["kid as a number", evilHeader(() => ({ kid: 7 }))],
    ["kid as SQL", evilHeader(() => ({ kid: "' OR 1=1 --" }))],
    ["kid of a prototype", evilHeader(() => ({ kid: "__proto__" }))],
    ["jku", evilHeader(() => ({ jku: trap.url }))],
    ["jku and a new kid", evilHeader(() => ({ jku: trap.url, kid: "new" }))],
    ["x5u", evilHeader(() => ({ x5u: trap.url, kid: "newer" }))],
    ["jwk", evilHeader(() => ({ jwk: { kty: evil.kty, n: evil.n, e: evil.e } }))],
    ["x5c", evilHeader(() => ({ x5c: ["AAAA"] }))],
    ["crit", withHeader({ crit: ["urn:eider"], "urn:eider": 1 })],
    ["crit b64", withHeader({ crit: ["b64"], b64: true })],
    ["crit exp", withHeader({ crit: ["exp"], exp: 1 })],
    ["zip", withHeader({ zip: "DEF" })],
    ["zip, really", (claims) => signRaw(deflateRawSync(JSON.stringify(claims)), { zip: "DEF" })],
    ["nested", async (claims) => signRaw(await withClaims({})(claims), { cty: "JWT" })],
    ["nested, not said", async (claims) => signRaw(await withClaims({})(claims), {})],
    ["nested, said of claims", withHeader({ cty: "JWT" })],
    [
      "encrypted",
      async (claims) => {
        const encrypt = new CompactEncrypt(Buffer.from(await withClaims({})(claims)));
        const { n, e } = keyOf("rsa");
        const key = await importJWK({ kty: "RSA", n: String(n), e: String(e) }, "RSA-OAEP-256");
        return await encrypt.setProtectedHeader({ alg: "RSA-OAEP-256", enc: "A256GCM", cty: "JWT" }).encrypt(key);
      },
    ],
    ["a logout token by its type", withHeader({ typ: "logout+jwt" })],
    [
      "a logout token by its claims",
      withClaims({ events: { "http://schemas.openid.net/event/backchannel-logout": {} } }),
    ],
    ["a type that is no text", withHeader({ typ: 1 })],
    ["claims as a list", (claims) => signRaw(JSON.stringify([claims]), {})],
    ["claims as text", () => signRaw('"ada"', {})],
    ["claims null", () => signRaw("null", {})],
    ["claims that are no JSON", () => signRaw("{", {})],
    [
      "claims that are no UTF-8",
      (claims) => signRaw(Buffer.from(JSON.stringify({ ...claims, sub: "\xff" }), "latin1"), {}),
    ],
    ["no claims", () => signRaw("{}", {})],
    ["two parts", async (claims) => (await withClaims({})(claims)).split(".").slice(0, 2).join(".")],
    ["four parts", async (claims) => `${await withClaims({})(claims)}.AAAA`],
    ["no signature", async (claims) => `${(await withClaims({})(claims)).split(".").slice(0, 2).join(".")}.`],
    ["header that is no JSON", async (claims) => (await withClaims({})(claims)).replace(/^[^.]+/, "AAAA")],
    ["header as a list", async (claims) => (await withClaims({})(claims)).replace(/^[^.]+/, base64([]))],
    ["deep header", (claims) => `${base64("[".repeat(9_000))}.${base64(claims)}.AAAA`],
    [
      "spare bits in the signature",
      async (claims) => {
        const token = await withClaims({})(claims);
        return token.slice(0, -1) + String.fromCharCode(token.charCodeAt(token.length - 1) + 1);
      },
    ],
    ["standard base64", async (claims) => `${await withClaims({})(claims)}=`],
    ["opaque", () => "secret"],
    ["exp as text", withClaims({ exp: "4102444800" })],
    ["exp as a list", withClaims({ exp: [4102444800] })],
    ["exp null", withClaims({ exp: null })],
    ["exp too large for a number", (claims) => signRaw(JSON.stringify(claims).replace(/"exp":\d+/, '"exp":1e999'), {})],
    ["no exp", withClaims({ exp: undefined })],
    ["exp 0", withClaims({ exp: 0 })],
    ["exp that is negative", withClaims({ exp: -1 })],
    ["exp beyond every date", withClaims({ exp: 1e300 })],
    ["iat beyond every date", withClaims({ iat: 1e15 })],
    ["nbf before every date", withClaims({ nbf: -1e15 })],
    ["iat too large for a number", (claims) => signRaw(JSON.stringify(claims).replace("}", ',"iat":1e999}'), {})],
    ["nbf too small for a number", (claims) => signRaw(JSON.stringify(claims).replace("}", ',"nbf":-1e999}'), {})],
    ["an ID token of Keycloak", withClaims({ typ: "ID" })],
    ["a refresh token of Keycloak", withClaims({ typ: "Refresh" })],
    ["nbf as text", withClaims({ nbf: "0" })],
    ["nbf true", withClaims({ nbf: true })],
    ["iat as text", withClaims({ iat: "0" })],
    ["no iss", withClaims({ iss: undefined })],
    ["iss of another", withClaims({ iss: "https://evil.test" })],
    ["iss with a slash more", withClaims({ iss: `${provider.issuer}/` })],
    ["iss as a list", withClaims({ iss: [provider.issuer] })],
    ["no sub", withClaims({ sub: undefined })],
    ["empty sub", withClaims({ sub: "" })],
    ["sub as a number", withClaims({ sub: 7 })],
    ["sub as an object", withClaims({ sub: { name: "ada" } })],
    ["no aud", withClaims({ aud: undefined })],
    ["aud of another", withClaims({ aud: "https://evil.test" })],
    ["aud of others", withClaims({ aud: ["a", "b"] })],
    ["aud as a number", withClaims({ aud: 7 })],
    ["aud with a number in it", withClaims({ aud: [`${audience}RS256`, 7] })],
    ["aud as an object", withClaims({ aud: { [`${audience}RS256`]: true } })],
    ["roles as a number", withClaims({ roles: 7 })],
    ["roles as an object", withClaims({ roles: { admin: true } })],
    ["roles with a number in it", withClaims({ roles: ["a", 7] })],
    ["roles with a list in it", withClaims({ roles: [["a"]] })],
    ["groups as a number", withClaims({ groups: 7 })],
    ["groups with null in it", withClaims({ groups: [null] })],
    ["email as a list", withClaims({ email: ["a@b.c"] })],
  ];

  test.each(made)("%s", async (_, make) => {
    using opened = openAgainst(provider.issuer, { audiences: [`${audience}RS256`] });
    // The same token without its fault is taken: what refuses it is the fault.
    const good = await signRaw(JSON.stringify(claimsOf(opened)), {});
    expect((await opened.show(good)).kind).toBe("identity");
    const bad = await make(claimsOf(opened));
    expect(await opened.show(bad)).toEqual(refused);
    expect(await opened.show(bad)).toEqual(refused);
    expect(trap.asked()).toBe(0);
    expect(opened.events).toEqual([]);
  });

  test("whatever is shown is refused, and nothing is thrown", async () => {
    using opened = openAgainst(provider.issuer);
    const good = await signRaw(JSON.stringify(claimsOf(opened)), {});
    const changed = fc
      .tuple(fc.nat(good.length - 1), fc.string({ minLength: 1, maxLength: 3 }))
      .map(([at, text]) => good.slice(0, at) + text + good.slice(at + text.length))
      .filter((token) => token.trim() !== good);
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.string({ unit: "binary" }), changed), async (token) => {
        expect(await opened.show(token)).toEqual(refused);
        expect(opened.events).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("claims of any shape give an identity or a refusal", async () => {
    using opened = openAgainst(provider.issuer, { roleClaimPath: "realm_access.roles" });
    const names = ["sub", "exp", "nbf", "aud", "roles", "groups", "email", "realm_access", "events"];
    const odd = fc.dictionary(fc.constantFrom(...names), fc.jsonValue(), { noNullPrototype: true });
    await fc.assert(
      fc.asyncProperty(odd, async (changes) => {
        const token = await signRaw(JSON.stringify({ ...claimsOf(opened), ...changes }), {});
        const answer = await opened.show(token);
        if (answer.kind === "refused") expect(answer).toEqual(refused);
        else expect(answer.identity.get("username")?.value).toBe(changes["sub"] ?? "ada");
      }),
      { numRuns: 200 },
    );
  });
});

describe("time", () => {
  /** Seconds from now, and whether the token is taken. */
  test.each<[Partial<OidcPolicy>, { exp?: number; nbf?: number }, boolean]>([
    [{}, { exp: 1 }, true],
    [{}, { exp: -299 }, true],
    [{}, { exp: -300 }, false],
    [{ clockSkewSeconds: 0 }, { exp: 1 }, true],
    [{ clockSkewSeconds: 0 }, { exp: 0 }, false],
    [{ clockSkewSeconds: 0 }, { exp: -1 }, false],
    [{}, { exp: 600, nbf: 300 }, true],
    [{}, { exp: 600, nbf: 301 }, false],
    [{ clockSkewSeconds: 0 }, { exp: 600, nbf: 0 }, true],
    [{ clockSkewSeconds: 0 }, { exp: 600, nbf: 1 }, false],
    [{}, {}, false],
    [{ verifyExpiration: false }, {}, true],
    [{ verifyExpiration: false }, { exp: -100_000 }, true],
    [{ verifyExpiration: false }, { exp: -100_000, nbf: 301 }, false],
  ])("%j, %j: %s", async (changes, { exp, nbf }, taken) => {
    using opened = openAgainst(provider.issuer, changes);
    opened.advance(-(opened.now() % 1000));
    const at = (seconds = Number.NaN) => (Number.isNaN(seconds) ? undefined : opened.now() / 1000 + seconds);
    const token = await signRaw(JSON.stringify({ ...claimsOf(opened), exp: at(exp), nbf: at(nbf) }), {});
    expect((await opened.show(token)).kind).toBe(taken ? "identity" : "refused");
  });

  test("a remembered token ends to the millisecond when it would without", async () => {
    using opened = openAgainst(provider.issuer, { clockSkewSeconds: 10 });
    opened.advance(-(opened.now() % 1000));
    const token = await signRaw(JSON.stringify({ ...claimsOf(opened), exp: opened.now() / 1000 + 20 }), {});
    expect((await opened.show(token)).kind).toBe("identity");
    opened.advance(29_999);
    expect((await opened.show(token)).kind).toBe("identity");
    opened.advance(1);
    expect(await opened.show(token)).toEqual(refused);
  });

  test("a clock that is set back makes a token look too early again", async () => {
    using opened = openAgainst(provider.issuer, { clockSkewSeconds: 0 });
    const token = await signRaw(JSON.stringify({ ...claimsOf(opened), nbf: Math.floor(opened.now() / 1000) }), {});
    expect((await opened.show(token)).kind).toBe("identity");
    opened.advance(-5_000);
    expect(await opened.show(token)).toEqual(refused);
  });
});

describe("claims", () => {
  const nested = { realm_access: { roles: ["nested"] }, roles: ["flat"] };
  test.each<[Partial<OidcPolicy>, object, object | "unauthorized"]>([
    [{}, {}, { username: "ada" }],
    [{ usernameClaim: "preferred_username" }, { preferred_username: "Ada L" }, { username: "Ada L" }],
    [{ usernameClaim: "preferred_username" }, {}, "unauthorized"],
    [{ usernameClaim: "https://acme.test/name" }, { "https://acme.test/name": "x" }, { username: "x" }],
    [{ usernameClaim: "constructor" }, {}, "unauthorized"],
    [{ usernameClaim: "__proto__" }, {}, "unauthorized"],
    [{ usernameClaim: "email" }, { email: "a@b.c" }, { username: "a@b.c", email: "a@b.c" }],
    [{ usernameClaim: "email" }, { email: "a@b.c", email_verified: true }, { username: "a@b.c", email: "a@b.c" }],
    [{ usernameClaim: "email" }, { email: "a@b.c", email_verified: false }, "unauthorized"],
    [{}, { email: "a@b.c", email_verified: false }, { username: "ada", email: "a@b.c" }],
    [{ emailClaim: "mail" }, { mail: "m@b.c", email: "a@b.c" }, { username: "ada", email: "m@b.c" }],
    [{}, { email: null, roles: null, groups: null }, { username: "ada" }],
    [{}, { email: "", roles: "", groups: [] }, { username: "ada" }],
    [{}, { roles: "one" }, { username: "ada", roles: "one" }],
    [{}, { roles: ["b", "a"] }, { username: "ada", roles: "b,a" }],
    [{}, { groups: ["g1", "g2"], roles: [] }, { username: "ada", groups: "g1,g2" }],
    [{ groupsClaim: "teams" }, { teams: "t", groups: ["g"] }, { username: "ada", groups: "t" }],
    [{ rolesClaim: "perms" }, { perms: ["p"], roles: ["r"] }, { username: "ada", roles: "p" }],
    [{ roleClaimPath: "realm_access.roles" }, nested, { username: "ada", roles: "nested" }],
    [{ roleClaimPath: "realm_access.none" }, nested, { username: "ada", roles: "flat" }],
    [{ roleClaimPath: "realm_access.roles" }, { ...nested, realm_access: 1 }, { username: "ada", roles: "flat" }],
    [{ roleClaimPath: "realm_access.roles" }, { ...nested, realm_access: { roles: {} } }, "unauthorized"],
    [{ roleClaimPath: "realm_access.roles" }, { ...nested, realm_access: { roles: [] } }, { username: "ada" }],
    [{ roleClaimPath: "a.b.c.roles" }, { a: { "b.c": { roles: ["x"] } } }, { username: "ada", roles: "x" }],
    [{ roleClaimPath: "__proto__.constructor" }, {}, { username: "ada" }],
    [{ roleClaimPath: "roles.length" }, { roles: ["r"] }, { username: "ada", roles: "r" }],
  ])("%j of %j: %j", async (changes, claims, expected) => {
    using opened = openAgainst(provider.issuer, changes);
    const token = await signRaw(JSON.stringify({ ...claimsOf(opened), ...claims }), {});
    const all = expected === "unauthorized" ? expected : { type: "oidc", authenticated: true, ...expected };
    expect(seen(await opened.show(token))).toEqual(all);
  });

  test.each<[readonly string[], unknown, boolean]>([
    [[], undefined, true],
    [[], "any", true],
    [["a"], "a", true],
    [["a", "b"], ["c", "b"], true],
    [["a"], ["ab"], false],
    [["a"], [], false],
  ])("allowed-audiences %j, aud %j: %s", async (audiences, aud, taken) => {
    using opened = openAgainst(provider.issuer, { audiences });
    const token = await signRaw(JSON.stringify({ ...claimsOf(opened), aud }), {});
    expect((await opened.show(token)).kind).toBe(taken ? "identity" : "refused");
  });
});

describe("what is remembered", () => {
  test("a token is answered at once, with the same identity, for five minutes", async () => {
    using opened = openAgainst(provider.issuer);
    const token = await signRaw(JSON.stringify(claimsOf(opened)), {});
    const show = () => opened.oidc.authenticate({ authorization: `Bearer ${token}` });
    const [first, second] = [show(), show()];
    expect(first).toBeInstanceOf(Promise);
    expect(second).toBe(first);
    const answer = await first;
    opened.advance(5 * 60_000 - 1);
    expect(show()).toBe(answer);
    opened.advance(1);
    const again = show();
    expect(again).toBeInstanceOf(Promise);
    expect(await again).toEqual(answer);
  });
});
