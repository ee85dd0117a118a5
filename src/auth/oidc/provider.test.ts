import type { RequestListener } from "node:http";
import type { JWK } from "jose";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  makeKey,
  makeKeys,
  type OpenedOidc,
  openAgainst,
  startProvider,
  type TestProvider,
} from "../../../test/oidc-provider.ts";
import { until } from "../../../test/until.ts";

const DISCOVERY = "/.well-known/openid-configuration";
const KEYS = "/jwks";
const HOUR = 3_600_000;

const refused = { kind: "refused", failure: { kind: "unauthorized", scheme: "bearer" } };
const down = { kind: "refused", failure: { kind: "provider-down" } };

// Made once: large primes take their time.
const [first, second, third] = [makeKey("rsa", "first"), makeKey("rsa", "second"), makeKey("rsa", "third")];

let provider: TestProvider;
beforeEach(async () => {
  provider = await startProvider([first]);
});
afterEach(async () => {
  vi.useRealTimers();
  await provider[Symbol.asyncDispose]();
});

let tokens = 0;
/** Each is new, so that none is remembered. */
function sign({ now }: OpenedOidc, kid: string | undefined, changes: object = {}): Promise<string> {
  const claims = {
    iss: provider.issuer,
    sub: "ada",
    exp: Math.floor(now() / 1000) + 90_000,
    jti: tokens++,
    ...changes,
  };
  return provider.sign(claims, { alg: "RS256", ...(kid === undefined ? {} : { kid }) });
}

const kindOf = async (opened: OpenedOidc, token: string): Promise<string> => (await opened.show(token)).kind;

const says = (body: unknown, status = 200, headers: Record<string, string> = {}): RequestListener => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return (_, response) => void response.writeHead(status, headers).end(text);
};

describe("keys", () => {
  test("nothing is asked before the first token, and one question is enough for all", async () => {
    using opened = openAgainst(provider.issuer);
    expect(opened.oidc.authenticate({ authorization: "Bearer a.b" })).toBeInstanceOf(Promise);
    expect(provider.requestCount(DISCOVERY)).toBe(0);
    const many = await Promise.all(Array.from({ length: 50 }, () => sign(opened, "first")));
    const answers = await Promise.all(many.map((token) => opened.show(token)));
    expect(answers.every(({ kind }) => kind === "identity")).toBe(true);
    expect([provider.requestCount(DISCOVERY), provider.requestCount(KEYS)]).toEqual([1, 1]);
  });

  test("they can be fetched before", async () => {
    using opened = openAgainst(provider.issuer);
    await opened.oidc.loadKeys();
    await opened.oidc.loadKeys();
    expect(await kindOf(opened, await sign(opened, "first"))).toBe("identity");
    expect(provider.requestCount(KEYS)).toBe(1);
  });

  test("old keys are renewed behind the answer", async () => {
    using opened = openAgainst(provider.issuer, { keysMaxAgeMs: 2 * HOUR });
    await opened.oidc.loadKeys();
    opened.advance(2 * HOUR - 1);
    expect(await kindOf(opened, await sign(opened, "first"))).toBe("identity");
    expect(provider.requestCount(KEYS)).toBe(1);
    opened.advance(1);
    expect(await kindOf(opened, await sign(opened, "first"))).toBe("identity");
    await until("the keys are asked for again", () => provider.requestCount(KEYS) === 2);
    expect(opened.events).toEqual([]);
  });

  test("a rotated key is fetched at once, later unknown ones once per minute", async () => {
    using opened = openAgainst(provider.issuer);
    expect(await kindOf(opened, await sign(opened, "first"))).toBe("identity");
    provider.rotate([second]);
    expect(await kindOf(opened, await sign(opened, "second"))).toBe("identity");
    expect(provider.requestCount(KEYS)).toBe(2);
    provider.rotate([third]);
    opened.advance(59_999);
    const byThird = await sign(opened, "third");
    for (let i = 0; i < 20; i++) expect(await opened.show(byThird)).toEqual(refused);
    expect(provider.requestCount(KEYS)).toBe(2);
    opened.advance(1);
    const both = await Promise.all([opened.show(byThird), opened.show(await sign(opened, "third"))]);
    expect(both.map(({ kind }) => kind)).toEqual(["identity", "identity"]);
    expect(provider.requestCount(KEYS)).toBe(3);
  });

  test("keys without names are renewed when a signature does not fit", async () => {
    const nameless = ({ kid: _, ...key }: JWK): JWK => key;
    const [before, after] = [nameless(first), nameless(second)];
    using opened = openAgainst(provider.issuer);
    provider.rotate([before]);
    provider.instead.set(KEYS, says({ keys: [{ kty: "RSA", n: before.n, e: before.e }] }));
    expect(await kindOf(opened, await sign(opened, undefined))).toBe("identity");
    provider.rotate([after]);
    provider.instead.set(KEYS, says({ keys: [{ kty: "RSA", n: after.n, e: after.e }] }));
    expect(await kindOf(opened, await sign(opened, undefined))).toBe("identity");
  });

  test("what is remembered is forgotten when its key is gone, and only then", async () => {
    provider.rotate([first, second]);
    using opened = openAgainst(provider.issuer, { keysMaxAgeMs: 60_000 });
    const [byFirst, bySecond] = [await sign(opened, "first"), await sign(opened, "second")];
    const show = (token: string) => opened.oidc.authenticate({ authorization: `Bearer ${token}` });
    const answer = await show(bySecond);
    expect((await show(byFirst)).kind).toBe("identity");
    provider.rotate([second]);
    opened.advance(60_000);
    // This hit is the last by keys that are too old, and renews them.
    expect(show(byFirst)).not.toBeInstanceOf(Promise);
    await until("the key is gone", () => show(byFirst) instanceof Promise);
    expect(await show(byFirst)).toEqual(refused);
    expect(show(bySecond)).toBe(answer);
  });

  test("another key of the same name is another key", async () => {
    using opened = openAgainst(provider.issuer, { keysMaxAgeMs: 60_000 });
    const token = await sign(opened, "first");
    expect(await kindOf(opened, token)).toBe("identity");
    provider.rotate([{ ...second, kid: "first" }]);
    opened.advance(60_000);
    expect(await kindOf(opened, token)).toBe("identity");
    await until("the keys are renewed", () => provider.requestCount(KEYS) === 2);
    await vi.waitFor(async () => expect(await opened.show(token)).toEqual(refused));
  });

  test("only keys for signatures count, and never a secret part of one", async () => {
    const { n, e } = first;
    const odd = [
      null,
      7,
      {},
      { kty: "oct", k: "c2VjcmV0", kid: "first" },
      { kty: "RSA", kid: "first" },
      { kty: "RSA", n: "AQAB", e: "AQAB", kid: "first" },
      { kty: "RSA", n, e, kid: "encrypts", use: "enc" },
      { kty: "RSA", n, e, kid: "wraps", key_ops: ["wrapKey"] },
      { kty: "RSA", n, e, kid: "other", alg: "PS512" },
    ];
    provider.instead.set(KEYS, says({ keys: [...odd, first] }));
    using opened = openAgainst(provider.issuer);
    expect(await kindOf(opened, await sign(opened, "first"))).toBe("identity");
    for (const kid of ["encrypts", "wraps", "other"])
      expect(await opened.show(await sign(opened, kid))).toEqual(refused);
  });
});

describe("a provider that is down", () => {
  test("at start: 503, asked again every few seconds, and then it works", async () => {
    await provider.stop();
    using opened = openAgainst(provider.issuer);
    const token = await sign(opened, "first");
    expect(await opened.show(token)).toEqual(down);
    // A malformed token is rejected although the provider is down.
    expect(await opened.show("a.b.c")).toEqual(refused);
    await provider.start();
    opened.advance(2_999);
    expect(await opened.show(token)).toEqual(down);
    expect(provider.requestCount(DISCOVERY)).toBe(0);
    expect(opened.events).toEqual([
      {
        kind: "dependency-down",
        dependency: `oidc provider ${provider.issuer}`,
        message: `${provider.issuer.slice(7)} cannot be reached (ECONNREFUSED); requests with tokens get 503 until it is back`,
      },
    ]);
    opened.advance(1);
    expect(await kindOf(opened, token)).toBe("identity");
    expect(opened.events.slice(1)).toEqual([{ kind: "dependency-up", dependency: `oidc provider ${provider.issuer}` }]);
  });

  test("later: the last good keys stay, for as long as it takes", async () => {
    using opened = openAgainst(provider.issuer, { keysMaxAgeMs: HOUR });
    await opened.oidc.loadKeys();
    await provider.stop();
    for (let hours = 0; hours < 5; hours++) {
      opened.advance(HOUR);
      expect(await kindOf(opened, await sign(opened, "first"))).toBe("identity");
      await until("it is reported", () => opened.events.length === 1);
    }
    // A name that nobody knows is refused: the keys that are known do not fit.
    expect(await opened.show(await sign(opened, "unknown"))).toEqual(refused);
    expect(opened.events).toEqual([
      expect.objectContaining({
        kind: "dependency-down",
        message: expect.stringContaining("the last keys stay in use"),
      }),
    ]);
    provider.rotate([second]);
    await provider.start();
    opened.advance(HOUR);
    expect(await kindOf(opened, await sign(opened, "second"))).toBe("identity");
    expect(opened.events.map(({ kind }) => kind)).toEqual(["dependency-down", "dependency-up"]);
  });

  test("a clock that is set back does not keep it down", async () => {
    await provider.stop();
    using opened = openAgainst(provider.issuer);
    expect(await opened.show(await sign(opened, "first"))).toEqual(down);
    await provider.start();
    opened.advance(-HOUR);
    expect(await kindOf(opened, await sign(opened, "first"))).toBe("identity");
  });

  test("a thousand calls are one question", async () => {
    provider.instead.set(DISCOVERY, says("", 500));
    using opened = openAgainst(provider.issuer);
    const token = await sign(opened, "first");
    const other = await sign(opened, "first");
    for (let i = 0; i < 500; i++)
      expect(await Promise.all([opened.show(token), opened.show(other)])).toEqual([down, down]);
    expect(provider.requestCount(DISCOVERY)).toBe(1);
    expect(opened.events).toHaveLength(1);
  });

  test("one that never answers is left after five seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    provider.instead.set(DISCOVERY, () => {});
    using opened = openAgainst(provider.issuer);
    const answer = opened.show(await sign(opened, "first"));
    while (provider.requestCount(DISCOVERY) === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(4_999);
    expect(opened.events).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await answer).toEqual(down);
    expect(opened.events).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/did not answer within 5 s/) }),
    ]);
  });

  test("one that never ends its answer is left as well", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    provider.instead.set(KEYS, (_, response) => void response.write('{"keys": ['));
    using opened = openAgainst(provider.issuer);
    const answer = opened.show(await sign(opened, "first"));
    while (provider.requestCount(KEYS) === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await answer).toEqual(down);
  });

  test("closing ends what is under way, and that is no news", async () => {
    provider.instead.set(DISCOVERY, () => {});
    const opened = openAgainst(provider.issuer);
    const answer = opened.show(await sign(opened, "first"));
    await until("it is asked", () => provider.requestCount(DISCOVERY) === 1);
    opened.oidc.close();
    expect(await answer).toEqual(down);
    expect(opened.events).toEqual([]);
  });
});

describe("what a provider says", () => {
  const document = (changes: object): RequestListener =>
    says({ issuer: provider.issuer, jwks_uri: `${provider.issuer}${KEYS}`, ...changes });

  test.each<[string, () => readonly [string, RequestListener], RegExp]>([
    ["another issuer", () => [DISCOVERY, document({ issuer: "https://evil.test" })], /another issuer, "https:..evil/],
    ["two slashes more", () => [DISCOVERY, document({ issuer: `${provider.issuer}//` })], /another issuer/],
    ["no issuer", () => [DISCOVERY, document({ issuer: 7 })], /another issuer, undefined/],
    ["no keys", () => [DISCOVERY, document({ jwks_uri: undefined })], /no usable jwks_uri/],
    ["keys in a file", () => [DISCOVERY, document({ jwks_uri: "file:///etc/passwd" })], /no usable jwks_uri/],
    ["keys with a password", () => [DISCOVERY, document({ jwks_uri: "https://u:p@id.test/" })], /no usable jwks_uri/],
    ["no JSON", () => [DISCOVERY, says("<html>")], /does not answer with a JSON object/],
    ["a list", () => [DISCOVERY, says([])], /does not answer with a JSON object/],
    ["not found", () => [DISCOVERY, says("{}", 404)], /status 404/],
    ["no list of keys", () => [KEYS, says({ keys: 7 })], /contains no signing key/],
    ["an empty list of keys", () => [KEYS, says({ keys: [] })], /contains no signing key/],
    ["a secret for a key", () => [KEYS, says({ keys: [{ kty: "oct", k: "AAAA" }] })], /contains no signing key/],
    ["too much", () => [KEYS, says(`{"keys": [], "x": "${"x".repeat(1024 * 1024)}"}`)], /more than 1048576 bytes/],
    [
      "see elsewhere",
      () => [KEYS, says("", 302, { location: "http://localhost:1/jwks" })],
      /redirects to another origin/,
    ],
    ["see nowhere", () => [KEYS, says("", 302)], /status 302/],
    [
      "see here, without end",
      () => [KEYS, says("", 302, { location: KEYS })],
      /redirects to another origin, or too often/,
    ],
  ])("%s: it counts as down", async (_, make, message) => {
    const [path, listener] = make();
    provider.instead.set(path, listener);
    using opened = openAgainst(provider.issuer);
    expect(await opened.show(await sign(opened, "first"))).toEqual(down);
    expect(opened.events).toEqual([
      {
        kind: "dependency-down",
        dependency: `oidc provider ${provider.issuer}`,
        message: expect.stringMatching(message),
      },
    ]);
    // What it said before stays.
    provider.instead.clear();
    opened.advance(3_000);
    expect(await kindOf(opened, await sign(opened, "first"))).toBe("identity");
    provider.instead.set(...make());
    opened.advance(24 * HOUR);
    expect(await kindOf(opened, await sign(opened, "first"))).toBe("identity");
    await until("it is reported", () => opened.events.length === 3);
    expect(await kindOf(opened, await sign(opened, "first"))).toBe("identity");
  });

  test("a slash more or less at the end of the issuer; tokens say what the provider says", async () => {
    const slashed = `${provider.issuer}/`;
    provider.instead.set(DISCOVERY, document({ issuer: slashed }));
    using opened = openAgainst(provider.issuer);
    expect(await kindOf(opened, await sign(opened, "first", { iss: slashed }))).toBe("identity");
    expect(await opened.show(await sign(opened, "first"))).toEqual(refused);
    provider.instead.clear();
    using other = openAgainst(provider.issuer, { issuerUrl: slashed });
    expect(await kindOf(other, await sign(other, "first"))).toBe("identity");
    expect(await other.show(await sign(other, "first", { iss: slashed }))).toEqual(refused);
  });

  test("a redirect on the same host is followed", async () => {
    provider.instead.set("/moved", says("", 307, { location: KEYS }));
    provider.instead.set(DISCOVERY, document({ jwks_uri: `${provider.issuer}/moved` }));
    using opened = openAgainst(provider.issuer);
    expect(await kindOf(opened, await sign(opened, "first"))).toBe("identity");
  });
});

describe("Microsoft and Google", () => {
  const TENANT = "11111111-2222-3333-4444-555555555555";
  const OTHER = "99999999-2222-3333-4444-555555555555";
  const microsoft = { provider: "microsoft", usernameClaim: "sub" } as const;
  const issuerOf = (tenant: string): string => `${provider.issuer}/${tenant}/v2.0`;

  function answerAs(asked: string, told: string): void {
    const document = { issuer: issuerOf(told), jwks_uri: `${provider.issuer}${KEYS}` };
    provider.instead.set(`/${asked}/v2.0${DISCOVERY}`, says(document));
  }

  test.each<[string, string, { tid?: unknown; iss: string }, string]>([
    ["common", "{tenantid}", { tid: TENANT, iss: TENANT }, "identity"],
    ["organizations", "{tenantid}", { tid: TENANT, iss: TENANT }, "identity"],
    ["common", "{tenantid}", { tid: OTHER, iss: TENANT }, "refused"],
    ["common", "{tenantid}", { iss: TENANT }, "refused"],
    ["common", "{tenantid}", { iss: "{tenantid}" }, "refused"],
    ["common", "{tenantid}", { tid: "{tenantid}", iss: "{tenantid}" }, "refused"],
    ["common", "{tenantid}", { tid: "../evil", iss: "../evil" }, "refused"],
    ["common", "{tenantid}", { tid: 7, iss: "7" }, "refused"],
    ["acme.onmicrosoft.com", TENANT, { tid: TENANT, iss: TENANT }, "identity"],
    ["acme.onmicrosoft.com", TENANT, { tid: OTHER, iss: OTHER }, "refused"],
    ["acme.onmicrosoft.com", "{tenantid}", { tid: TENANT, iss: TENANT }, "provider-down"],
    ["common", TENANT, { tid: TENANT, iss: TENANT }, "provider-down"],
    [TENANT, TENANT, { tid: TENANT, iss: TENANT }, "identity"],
    [TENANT, OTHER, { tid: OTHER, iss: OTHER }, "provider-down"],
  ])("tenant %s, issuer of %s, token %j: %s", async (asked, told, { tid, iss }, expected) => {
    answerAs(asked, told);
    using opened = openAgainst(issuerOf(asked), microsoft);
    const answer = await opened.show(await sign(opened, "first", { iss: issuerOf(iss), tid }));
    expect(answer.kind === "refused" && expected === "provider-down" ? answer.failure.kind : answer.kind).toBe(
      expected,
    );
  });

  test("a key that signs for one tenant does not sign for others", async () => {
    answerAs("common", "{tenantid}");
    provider.instead.set(KEYS, says({ keys: [{ ...first, issuer: issuerOf(TENANT) }] }));
    using opened = openAgainst(issuerOf("common"), microsoft);
    expect(await kindOf(opened, await sign(opened, "first", { iss: issuerOf(TENANT), tid: TENANT }))).toBe("identity");
    expect(await kindOf(opened, await sign(opened, "first", { iss: issuerOf(OTHER), tid: OTHER }))).toBe("refused");
  });

  test("only Microsoft has a placeholder", async () => {
    answerAs("common", "{tenantid}");
    using opened = openAgainst(issuerOf("common"));
    expect(await opened.show(await sign(opened, "first", { iss: issuerOf(TENANT), tid: TENANT }))).toEqual(down);
  });

  test("Google's tokens may leave the scheme away, those of others not", async () => {
    const fetchGoogle: typeof fetch = (input, init) =>
      fetch(String(input).replace("https://accounts.google.com", provider.issuer), init);
    const document = { issuer: "https://accounts.google.com", jwks_uri: `https://accounts.google.com${KEYS}` };
    provider.instead.set(DISCOVERY, says(document));
    const { openOidc } = await import("./oidc.ts");
    using template = openAgainst("https://accounts.google.com", { usernameClaim: "sub" });
    const kinds: string[] = [];
    for (const name of ["google", "generic"] as const) {
      const policy = { ...template.policy, provider: name };
      const oidc = openOidc(policy, { fetch: fetchGoogle, now: template.now, report: () => {} });
      for (const iss of ["https://accounts.google.com", "accounts.google.com", "evil.test"]) {
        const authorization = `Bearer ${await sign(template, "first", { iss })}`;
        kinds.push((await oidc.authenticate({ authorization })).kind);
      }
    }
    expect(kinds).toEqual(["identity", "identity", "refused", "identity", "refused", "refused"]);
  });
});

test("a provider with keys of every kind", async () => {
  provider.rotate(makeKeys());
  using opened = openAgainst(provider.issuer);
  expect(await kindOf(opened, await provider.issue("ES512"))).toBe("identity");
});
