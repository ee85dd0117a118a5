import { expect, test } from "vitest";
import { oidcProviders } from "../auth/policy.ts";
import { oidcPolicyOf } from "./oidc-presets.ts";
import { type OidcInput, oidc } from "./schema/auth.ts";

const settings = (changes: Partial<OidcInput>): OidcInput => oidc.parse({ "client-id": "client", ...changes });

test("what is not written has its default", () => {
  expect(oidcPolicyOf(settings({ "issuer-url": "https://id.test/realm" }))).toEqual({
    problems: [],
    policy: {
      kind: "oidc",
      provider: "generic",
      issuerUrl: "https://id.test/realm",
      clientId: "client",
      clientSecret: undefined,
      audiences: [],
      verifyExpiration: true,
      clockSkewSeconds: 300,
      usernameClaim: "sub",
      emailClaim: "email",
      rolesClaim: "roles",
      roleClaimPath: undefined,
      groupsClaim: "groups",
      scopes: ["openid", "profile", "email"],
      keysMaxAgeMs: 24 * 3_600_000,
      exchanges: { clientCredentials: false, refreshTokens: false },
    },
  });
});

test("what is written wins", () => {
  const { policy } = oidcPolicyOf(
    settings({
      "provider-type": "keycloak",
      domain: "id.acme.com",
      realm: "staff",
      "client-secret": "s",
      "allowed-audiences": ["api"],
      "verify-expiration": false,
      "clock-skew-seconds": 0,
      "username-claim": "u",
      "email-claim": "e",
      "roles-claim": "r",
      "groups-claim": "g",
      scopes: [],
      "jwks-cache-hours": 2,
      "enable-client-credentials": true,
      "enable-refresh-tokens": true,
    }),
  );
  expect(policy).toMatchObject({
    clientSecret: "s",
    audiences: ["api"],
    verifyExpiration: false,
    clockSkewSeconds: 0,
    usernameClaim: "u",
    emailClaim: "e",
    rolesClaim: "r",
    roleClaimPath: undefined,
    groupsClaim: "g",
    scopes: [],
    keysMaxAgeMs: 7_200_000,
    exchanges: { clientCredentials: true, refreshTokens: true },
  });
});

test.each<[Partial<OidcInput>, string, string]>([
  [{ "provider-type": "google" }, "https://accounts.google.com", "email"],
  [
    { "provider-type": "microsoft", tenant: "common" },
    "https://login.microsoftonline.com/common/v2.0",
    "preferred_username",
  ],
  [
    { "provider-type": "microsoft", tenant: "acme.onmicrosoft.com" },
    "https://login.microsoftonline.com/acme.onmicrosoft.com/v2.0",
    "preferred_username",
  ],
  [{ "provider-type": "keycloak", domain: "kc", realm: "a b" }, "https://kc/realms/a%20b", "preferred_username"],
  [
    { "provider-type": "keycloak", domain: "id.acme.com:8443", realm: "staff" },
    "https://id.acme.com:8443/realms/staff",
    "preferred_username",
  ],
  [{ "provider-type": "auth0", domain: "acme" }, "https://acme.auth0.com/", "email"],
  [{ "provider-type": "auth0", domain: "acme.eu.auth0.com" }, "https://acme.eu.auth0.com/", "email"],
  [{ "provider-type": "okta", domain: "acme" }, "https://acme.okta.com/oauth2/default", "preferred_username"],
  [
    { "provider-type": "okta", domain: "login.acme.com" },
    "https://login.acme.com/oauth2/default",
    "preferred_username",
  ],
  [{ "provider-type": "github" }, "https://api.github.com", "login"],
  // The address that is written wins over the preset and needs none of its placeholders.
  [
    { "provider-type": "okta", "issuer-url": "https://acme.okta.com/oauth2/default" },
    "https://acme.okta.com/oauth2/default",
    "preferred_username",
  ],
  [
    { "provider-type": "auth0", domain: "x", "issuer-url": "https://login.acme.com" },
    "https://login.acme.com/",
    "email",
  ],
  [{ "issuer-url": "https://id.test//" }, "https://id.test", "sub"],
  [{ "issuer-url": "https://id.test/a/.well-known/openid-configuration" }, "https://id.test/a", "sub"],
])("%j: issuer %s, user name from %s", (changes, issuerUrl, usernameClaim) => {
  const { policy, problems } = oidcPolicyOf(settings(changes));
  expect(problems).toEqual([]);
  expect(policy).toMatchObject({ issuerUrl, usernameClaim });
});

test("Keycloak's roles are where it puts them, until somebody says otherwise", () => {
  const keycloak: Partial<OidcInput> = { "provider-type": "keycloak", domain: "kc", realm: "r" };
  expect(oidcPolicyOf(settings(keycloak)).policy?.roleClaimPath).toBe("realm_access.roles");
  expect(oidcPolicyOf(settings({ ...keycloak, "roles-claim": "roles" })).policy?.roleClaimPath).toBeUndefined();
  expect(oidcPolicyOf(settings({ ...keycloak, "role-claim-path": "a.b" })).policy?.roleClaimPath).toBe("a.b");
});

test.each<[Partial<OidcInput>, readonly string[]]>([
  [{}, ["issuer-url: missing; provider-type generic needs it"]],
  [{ "provider-type": "microsoft" }, ["tenant: missing; provider-type microsoft needs it, or an issuer-url"]],
  [
    { "provider-type": "keycloak" },
    [
      "domain: missing; provider-type keycloak needs it, or an issuer-url",
      "realm: missing; provider-type keycloak needs it, or an issuer-url",
    ],
  ],
  [{ "provider-type": "auth0" }, ["domain: missing; provider-type auth0 needs it, or an issuer-url"]],
  [
    { "provider-type": "okta", domain: "https://acme.okta.com/" },
    ["domain: must be a host name, not 'https://acme.okta.com/'; for a whole URL, use issuer-url"],
  ],
  [
    { "provider-type": "microsoft", tenant: "a/../b" },
    ["tenant: must be an ID or a name, not 'a/../b'; for a whole URL, use issuer-url"],
  ],
  [
    { "provider-type": "google", "enable-client-credentials": true, "enable-refresh-tokens": true },
    ["client-secret: missing; enable-client-credentials and enable-refresh-tokens need it"],
  ],
  [
    { "provider-type": "github", "enable-refresh-tokens": true, "client-secret": "s" },
    ["enable-refresh-tokens: GitHub has no OpenID Connect token endpoint; remove this key"],
  ],
  [
    { "provider-type": "github", "allowed-audiences": ["a"] },
    ["allowed-audiences: GitHub's tokens have no audience; remove this key"],
  ],
  [{ "issuer-url": "id.test" }, ["issuer-url: must be a URL that starts with https:// (or http:// on this machine)"]],
  [
    { "issuer-url": "file:///etc/passwd" },
    ["issuer-url: must be a URL that starts with https:// (or http:// on this machine)"],
  ],
  [{ "issuer-url": "https://u:p@id.test" }, ["issuer-url: must not contain a user, a query or a fragment"]],
  [{ "issuer-url": "https://id.test?a=b" }, ["issuer-url: must not contain a user, a query or a fragment"]],
])("%j is refused", (changes, expected) => {
  const { policy, problems } = oidcPolicyOf(settings(changes));
  expect(policy).toBeUndefined();
  expect(problems.map(({ key, message }) => `${key}: ${message}`)).toEqual(expected);
  expect(problems.every(({ severity }) => severity === "error")).toBe(true);
});

test.each(["http://127.0.0.1:8080", "http://localhost/realm", "http://[::1]:9", "http://id.localhost"])(
  "%s stays on this machine",
  (issuerUrl) => expect(oidcPolicyOf(settings({ "issuer-url": issuerUrl })).problems).toEqual([]),
);

test.each(["http://id.test", "http://127.0.0.1.id.test", "http://localhost.id.test", "http://10.0.0.1"])(
  "%s works, with a warning",
  (issuerUrl) => {
    const { policy, problems } = oidcPolicyOf(settings({ "issuer-url": issuerUrl }));
    expect(policy?.issuerUrl).toBe(issuerUrl);
    expect(problems).toEqual([
      { severity: "warning", key: "issuer-url", message: expect.stringContaining("https://") },
    ]);
  },
);

test("every provider has a preset that can be filled", () => {
  const all = { tenant: "t", realm: "r", domain: "d.test", "issuer-url": "https://id.test" };
  for (const provider of oidcProviders)
    expect(oidcPolicyOf(settings({ ...all, "provider-type": provider })).policy).toBeDefined();
});
