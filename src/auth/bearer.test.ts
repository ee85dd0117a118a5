import { createHmac } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { type JWTPayload, SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import type { ServiceEvent } from "../events.ts";
import type { AuthenticationResult } from "./authenticator.ts";
import { openBearer } from "./bearer.ts";
import type { Identity } from "./identity.ts";
import type { BearerPolicy } from "./policy.ts";

const SECRET = "a secret of the tests, long enough for anybody";
const START = 1_700_000_000;
const unauthorized = { kind: "refused", failure: { kind: "unauthorized", scheme: "bearer" } };

function openTest(policy: Partial<BearerPolicy>, options: { readonly maxCacheBytes?: number } = {}) {
  const clock = { seconds: START };
  const events: ServiceEvent[] = [];
  const authenticator = openBearer(
    { kind: "bearer", jwt: undefined, tokens: [], ...policy },
    { report: (event) => void events.push(event), now: () => clock.seconds * 1000, ...options },
  );
  return {
    clock,
    events,
    show: (token: string | undefined, scheme = "Bearer") =>
      authenticator.authenticate({
        authorization: token === undefined ? undefined : `${scheme} ${token}`,
      }),
  };
}

const withJwt = { jwt: { secret: SECRET, issuer: undefined } };
const sign = (claims: JWTPayload, header: object = {}): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: "HS256", ...header }).sign(Buffer.from(SECRET));

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token that no library would make, with a signature that is right. */
function forge(header: object, payload: string, { hash = "sha256", secret = SECRET } = {}): string {
  const input = `${encode(header)}.${payload}`;
  return `${input}.${createHmac(hash, secret).update(input).digest("base64url")}`;
}

function identityIn(answer: AuthenticationResult): Identity {
  if (answer.kind === "refused") throw new Error(`refused: ${answer.failure.kind}`);
  return answer.identity;
}
const textsOf = (answer: AuthenticationResult): unknown =>
  Object.fromEntries([...identityIn(answer)].map(([name, { text }]) => [name, text]));

describe("shared tokens", () => {
  const tokens = [
    { token: "one-token", username: "robot", roles: ["reader", "writer"] },
    { token: "two,token!", username: undefined, roles: [] },
    { token: "one-token", username: "shadowed", roles: [] },
  ];

  test("each with its user, at once and as the same identity", async () => {
    const { show } = openTest({ tokens });
    const first = show("one-token");
    expect(first).not.toBeInstanceOf(Promise);
    expect(textsOf(await first)).toEqual({
      type: "bearer",
      authenticated: "true",
      username: "robot",
      roles: "reader,writer",
    });
    expect(identityIn(await show("one-token", "bearer"))).toBe(identityIn(await first));
    expect(textsOf(await show("two,token!"))).toEqual({ type: "bearer", authenticated: "true" });
  });

  test.each([
    ["nothing", undefined],
    ["another", "one-tokem"],
    ["the start of one", "one-toke"],
    ["more than one", "one-token2"],
    ["in other letters", "One-Token"],
    ["two joined", "one-token, Bearer one-token"],
    ["an empty one", ""],
    ["a signed one", forge({ alg: "HS256" }, encode({ sub: "a" }))],
  ])("%s is refused", async (_, token) => expect(await openTest({ tokens }).show(token)).toEqual(unauthorized));

  test("another scheme is refused", async () => {
    expect(await openTest({ tokens }).show("one-token", "Basic")).toEqual(unauthorized);
    expect(await openTest({ tokens }).show("one-token", "Token")).toEqual(unauthorized);
  });

  test("any token is let in, and none with a flipped bit", async () => {
    const token = fc.stringMatching(/^[\x21-\x7e]{1,40}$/);
    await fc.assert(
      fc.asyncProperty(token, fc.nat(), async (text, seed) => {
        const { show } = openTest({ tokens: [{ token: text, username: "robot", roles: [] }] });
        expect((await show(text)).kind).toBe("identity");
        const bit = seed % (text.length * 7);
        const bytes = Buffer.from(text);
        bytes[Math.floor(bit / 7)] = (bytes[Math.floor(bit / 7)] ?? 0) ^ (1 << (bit % 7));
        expect(await show(bytes.toString("latin1"))).toEqual(unauthorized);
      }),
    );
  });
});

describe("signed tokens", () => {
  test("what templates see", async () => {
    const { show } = openTest(withJwt);
    const token = await sign({ sub: "ann", roles: ["a", "b"], email: "ann@example.com", groups: ["g", "h"] });
    expect(textsOf(await show(token))).toEqual({
      type: "bearer",
      authenticated: "true",
      username: "ann",
      roles: "a,b",
      email: "ann@example.com",
      groups: "g,h",
    });
  });

  test.each<[string, JWTPayload, Record<string, string>]>([
    ["no roles, no exp", {}, {}],
    ["one role as a text", { roles: "admin" }, { roles: "admin" }],
    ["an empty list of roles", { roles: [] }, {}],
    ["an empty text of roles", { roles: "" }, {}],
    ["null as roles", { roles: null }, {}],
    ["null as groups and e-mail address", { groups: null, email: null }, {}],
    ["an empty name among others", { roles: ["", "a", ""], groups: [""] }, { roles: "a" }],
    ["commas in names", { roles: ["a,b", "c"], groups: ["x,y,"] }, { roles: "a%2Cb,c", groups: "x%2Cy%2C" }],
    ["one text with a comma: one role", { roles: "a,b" }, { roles: "a%2Cb" }],
    ["names that look encoded", { roles: ["a%2Cb", "%2c", "%25", "100%"] }, { roles: "a%252Cb,%252c,%2525,100%" }],
    ["an access token of Keycloak", { typ: "Bearer" }, {}],
    ["the last second of all", { exp: 8.64e12 }, {}],
    ["an e-mail address of the wrong type", { email: 1 }, {}],
    ["groups of the wrong type", { groups: { a: 1 } }, {}],
    ["groups of mixed types", { groups: ["a", 1] }, {}],
    ["an issuer that nobody asked for", { iss: "anybody" }, {}],
    ["claims that nobody knows", { authenticated: false, type: "root", username: "root" }, {}],
  ])("%s", async (_, claims, expected) => {
    const { show } = openTest(withJwt);
    expect(textsOf(await show(await sign({ sub: "ann", ...claims })))).toEqual({
      type: "bearer",
      authenticated: "true",
      username: "ann",
      ...expected,
    });
  });

  test.each<[string, object]>([
    ["no subject", {}],
    ["an empty subject", { sub: "" }],
    ["a number as a subject", { sub: 7 }],
    ["null as a subject", { sub: null }],
    ["a list as a subject", { sub: ["ann"] }],
    ["a number as roles", { sub: "ann", roles: 7 }],
    ["an object as roles", { sub: "ann", roles: { admin: true } }],
    ["roles of mixed types", { sub: "ann", roles: ["a", 1] }],
    ["exp as a text", { sub: "ann", exp: "2999-01-01" }],
    ["exp as null", { sub: "ann", exp: null }],
    ["nbf as a text", { sub: "ann", nbf: "0" }],
    ["iat as a text", { sub: "ann", iat: "0" }],
    ["exp that is negative", { sub: "ann", exp: -1 }],
    ["exp beyond every date", { sub: "ann", exp: 1e300 }],
    ["iat beyond every date", { sub: "ann", iat: 1e15 }],
    ["nbf before every date", { sub: "ann", nbf: -1e15 }],
    ["an ID token", { sub: "ann", typ: "ID" }],
    ["an ID token in lower case", { sub: "ann", typ: "id" }],
    ["a refresh token", { sub: "ann", typ: "Refresh" }],
    ["an offline token", { sub: "ann", typ: "Offline" }],
    ["claims in a list", [{ sub: "ann" }]],
    ["expired", { sub: "ann", exp: START }],
    ["not yet", { sub: "ann", nbf: START + 1 }],
  ])("%s is refused", async (_, claims) => {
    const { show } = openTest(withJwt);
    expect(await show(forge({ alg: "HS256" }, encode(claims)))).toEqual(unauthorized);
  });

  test.each(["exp", "nbf", "iat"])("%s that is not finite is refused", async (name) => {
    const { show } = openTest(withJwt);
    for (const number of ["1e999", "-1e999"]) {
      const claims = Buffer.from(`{"sub":"ann","${name}":${number}}`).toString("base64url");
      expect(await show(forge({ alg: "HS256" }, claims))).toEqual(unauthorized);
    }
  });

  test("a comma in a name is reported once, without the name", async () => {
    const { show, events } = openTest(withJwt);
    await show(await sign({ sub: "ann", roles: ["plain", "100%2C"] }));
    expect(events).toEqual([]);
    for (const name of ["a,b", "c,d"]) await show(await sign({ sub: "ann", groups: [name] }));
    await show(await sign({ sub: "ann", roles: ["a,b"] }));
    expect(events).toEqual([{ kind: "comma-in-name", variable: "groups" }]);
  });

  const claims = encode({ sub: "ann" });
  test.each([
    ["another secret", forge({ alg: "HS256" }, claims, { secret: `${SECRET}.` })],
    ["no algorithm", `${encode({ alg: "none" })}.${claims}.`],
    ["no algorithm, and a signature", forge({ alg: "none" }, claims)],
    ["another algorithm", forge({ alg: "HS512" }, claims, { hash: "sha512" })],
    ["another algorithm by name only", forge({ alg: "HS512" }, claims)],
    ["an algorithm in small letters", forge({ alg: "hs256" }, claims)],
    ["no header", forge({}, claims)],
    ["something critical", forge({ alg: "HS256", crit: ["exp"], exp: 1 }, claims)],
    ["nothing critical", forge({ alg: "HS256", crit: [] }, claims)],
    ["b64 that changes nothing", forge({ alg: "HS256", b64: true, crit: ["b64"] }, claims)],
    ["b64: false", forge({ alg: "HS256", b64: false, crit: ["b64"] }, JSON.stringify({ sub: "ann" }))],
    ["b64: false, not critical", forge({ alg: "HS256", b64: false }, claims)],
    ["zip that changes nothing", forge({ alg: "HS256", zip: "DEF" }, claims)],
    [
      "compressed",
      forge({ alg: "HS256", zip: "DEF" }, deflateRawSync(JSON.stringify({ sub: "ann" })).toString("base64url")),
    ],
    ["nested by its header", forge({ alg: "HS256", cty: "JWT" }, claims)],
    ["nested", forge({ alg: "HS256" }, Buffer.from(forge({ alg: "HS256" }, claims)).toString("base64url"))],
    ["no JSON", forge({ alg: "HS256" }, Buffer.from("hello").toString("base64url"))],
    ["no UTF-8", forge({ alg: "HS256" }, Buffer.of(0x7b, 0xff, 0x7d).toString("base64url"))],
    ["two parts", `${encode({ alg: "HS256" })}.${claims}`],
    ["four parts", `${forge({ alg: "HS256" }, claims)}.x`],
    ["five parts", `${encode({ alg: "dir", enc: "A256GCM" })}....`],
    ["padding", `${forge({ alg: "HS256" }, claims)}=`],
    ["dots", ".."],
    ["an empty one", ""],
  ])("%s is refused", async (_, token) => expect(await openTest(withJwt).show(token)).toEqual(unauthorized));

  test("a token whose header says no more than it must is accepted", async () => {
    const { show } = openTest(withJwt);
    for (const header of [{}, { typ: "JWT" }, { typ: "at+jwt", kid: "7" }]) {
      expect((await show(await sign({ sub: "ann" }, header))).kind).toBe("identity");
    }
  });

  test("no flipped bit, wherever it is", async () => {
    const token = await sign({ sub: "ann", roles: ["a"] });
    const { show } = openTest(withJwt);
    for (let bit = 0; bit < token.length * 7; bit++) {
      const bytes = Buffer.from(token);
      bytes[Math.floor(bit / 7)] = (bytes[Math.floor(bit / 7)] ?? 0) ^ (1 << (bit % 7));
      expect([bit, await show(bytes.toString("latin1"))]).toEqual([bit, unauthorized]);
    }
    expect((await show(token)).kind).toBe("identity");
  });

  test.each([
    ["the issuer", "https://issuer.example", true],
    ["another", "https://issuer.example/", false],
    ["none", undefined, false],
    ["a list", ["https://issuer.example"], false],
  ])("only of the issuer that is set: %s", async (_, iss, accepted) => {
    const { show } = openTest({ jwt: { secret: SECRET, issuer: "https://issuer.example" } });
    const answer = await show(forge({ alg: "HS256" }, encode({ sub: "ann", iss })));
    expect(answer.kind).toBe(accepted ? "identity" : "refused");
  });

  test("beside shared tokens", async () => {
    const { show } = openTest({ ...withJwt, tokens: [{ token: "shared", username: "robot", roles: [] }] });
    expect(textsOf(await show("shared"))).toMatchObject({ username: "robot" });
    expect(textsOf(await show(await sign({ sub: "ann" })))).toMatchObject({ username: "ann" });
    expect(await show("other")).toEqual(unauthorized);
  });
});

describe("what is remembered", () => {
  test("a good token, at once and as the same identity, until it expires to the second", async () => {
    const { show, clock } = openTest(withJwt);
    const token = await sign({ sub: "ann", exp: START + 3_600 });
    const [first, second] = await Promise.all([show(token), show(token)]);
    expect(identityIn(second)).toBe(identityIn(first));
    clock.seconds += 3_599.999;
    const again = show(token, "bearer");
    expect(again).not.toBeInstanceOf(Promise);
    expect(identityIn(await again)).toBe(identityIn(first));
    clock.seconds = START + 3_600;
    expect(await show(token)).toEqual(unauthorized);
    clock.seconds -= 1;
    expect((await show(token)).kind).toBe("identity");
  });

  test("an end between two seconds", async () => {
    const { show, clock } = openTest(withJwt);
    const token = await sign({ sub: "ann", exp: START + 0.5 });
    clock.seconds += 0.25;
    expect((await show(token)).kind).toBe("identity");
    clock.seconds += 0.5;
    expect(await show(token)).toEqual(unauthorized);
  });

  test("a token without an end is looked at again after five minutes", async () => {
    const { show, clock } = openTest(withJwt);
    const token = await sign({ sub: "ann" });
    const first = identityIn(await show(token));
    clock.seconds += 299;
    expect(show(token)).not.toBeInstanceOf(Promise);
    clock.seconds += 1;
    const again = show(token);
    expect(again).toBeInstanceOf(Promise);
    expect(identityIn(await again)).toEqual(first);
  });

  test("a token that begins later, after the clock was set back", async () => {
    const { show, clock } = openTest(withJwt);
    const token = await sign({ sub: "ann", nbf: START });
    expect((await show(token)).kind).toBe("identity");
    clock.seconds -= 1;
    expect(await show(token)).toEqual(unauthorized);
  });

  test("no more than fit, and none that was wrong", async () => {
    const { show } = openTest(withJwt, { maxCacheBytes: 2_000 });
    const [ann, ben] = await Promise.all(["ann", "ben"].map((sub) => sign({ sub })));
    const isRemembered = (token: string | undefined): boolean => !(show(token) instanceof Promise);
    await show(ann);
    await show(ben);
    const wrong = forge({ alg: "HS256" }, encode({ sub: "ann" }), { secret: "another" });
    for (let count = 0; count < 2; count++) expect(await show(wrong)).toEqual(unauthorized);
    expect([isRemembered(wrong), isRemembered(ben)]).toEqual([false, true]);
    await show(ann);
    expect([isRemembered(ann), isRemembered(ben)]).toEqual([true, false]);
  });
});
