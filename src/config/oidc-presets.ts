import type { OidcPolicy, OidcProvider } from "../auth/policy.ts";
import { isLoopback } from "./loopback.ts";
import type { OidcInput } from "./schema/auth.ts";

/** A problem in an `oidc` block. `key` is the key to add, change or remove. */
export interface OidcProblem {
  readonly severity: "error" | "warning";
  readonly key: string;
  readonly message: string;
}

/** `policy` is undefined if one of the problems is an error. */
export interface OidcPolicyResult {
  readonly policy: OidcPolicy | undefined;
  readonly problems: readonly OidcProblem[];
}

type Placeholder = "tenant" | "realm" | "domain";

interface Preset {
  /** Undefined if there is no default. */
  readonly issuer: string | undefined;
  /** Appended to a domain without a dot. */
  readonly domainSuffix?: string;
  readonly usernameClaim: string;
  readonly roleClaimPath?: string;
  readonly scopes: readonly string[];
}

const OPENID = ["openid", "profile", "email"] as const;

const presets: Readonly<Record<OidcProvider, Preset>> = {
  google: { issuer: "https://accounts.google.com", usernameClaim: "email", scopes: OPENID },
  microsoft: {
    issuer: "https://login.microsoftonline.com/{tenant}/v2.0",
    usernameClaim: "preferred_username",
    scopes: OPENID,
  },
  keycloak: {
    issuer: "https://{domain}/realms/{realm}",
    usernameClaim: "preferred_username",
    roleClaimPath: "realm_access.roles",
    scopes: OPENID,
  },
  // The slash is part of Auth0's issuer.
  auth0: { issuer: "https://{domain}/", domainSuffix: ".auth0.com", usernameClaim: "email", scopes: OPENID },
  okta: {
    issuer: "https://{domain}/oauth2/default",
    domainSuffix: ".okta.com",
    usernameClaim: "preferred_username",
    scopes: OPENID,
  },
  // Not an issuer but the URL of GitHub's API, which checks its tokens: GitHub has neither discovery nor signed tokens.
  github: { issuer: "https://api.github.com", usernameClaim: "login", scopes: ["read:user", "user:email"] },
  generic: { issuer: undefined, usernameClaim: "sub", scopes: OPENID },
};

const HOUR_MS = 3_600_000;

/** Applies the defaults of the provider's preset, and reports missing keys. */
export function oidcPolicyOf(settings: OidcInput): OidcPolicyResult {
  const { "provider-type": provider, "issuer-url": issuer, "roles-claim": rolesClaim } = settings;
  const preset = presets[provider];
  const problems: OidcProblem[] = [...exchangeProblems(settings), ...audienceProblems(settings)];
  const issuerUrl =
    issuer === undefined ? issuerFromPreset(settings, preset, problems) : issuerFromUrl(issuer, preset, problems);
  if (issuerUrl === undefined || problems.some(({ severity }) => severity === "error")) {
    return { policy: undefined, problems };
  }
  const policy: OidcPolicy = {
    kind: "oidc",
    provider,
    issuerUrl,
    clientId: settings["client-id"],
    clientSecret: settings["client-secret"],
    audiences: settings["allowed-audiences"] ?? [],
    verifyExpiration: settings["verify-expiration"],
    clockSkewSeconds: settings["clock-skew-seconds"],
    usernameClaim: settings["username-claim"] ?? preset.usernameClaim,
    emailClaim: settings["email-claim"],
    rolesClaim: rolesClaim ?? "roles",
    // A configured `roles-claim` overrides the path of the preset.
    roleClaimPath: settings["role-claim-path"] ?? (rolesClaim === undefined ? preset.roleClaimPath : undefined),
    groupsClaim: settings["groups-claim"],
    scopes: settings.scopes ?? preset.scopes,
    keysMaxAgeMs: settings["jwks-cache-hours"] * HOUR_MS,
    exchanges: {
      clientCredentials: settings["enable-client-credentials"],
      refreshTokens: settings["enable-refresh-tokens"],
    },
  };
  return { policy, problems };
}

function exchangeProblems(settings: OidcInput): readonly OidcProblem[] {
  const enabled = (["enable-client-credentials", "enable-refresh-tokens"] as const).filter((key) => settings[key]);
  if (settings["provider-type"] === "github") {
    return enabled.map((key) => error(key, "GitHub has no OpenID Connect token endpoint; remove this key"));
  }
  if (enabled.length === 0 || settings["client-secret"] !== undefined) return [];
  const verb = enabled.length > 1 ? "need" : "needs";
  return [error("client-secret", `missing; ${enabled.join(" and ")} ${verb} it`)];
}

function audienceProblems(settings: OidcInput): readonly OidcProblem[] {
  if (settings["provider-type"] !== "github" || (settings["allowed-audiences"] ?? []).length === 0) return [];
  return [error("allowed-audiences", "GitHub's tokens have no audience; remove this key")];
}

/** The issuer of the preset, with its placeholders replaced. */
function issuerFromPreset(settings: OidcInput, preset: Preset, problems: OidcProblem[]): string | undefined {
  if (preset.issuer === undefined) {
    problems.push(error("issuer-url", `missing; provider-type ${settings["provider-type"]} needs it`));
    return undefined;
  }
  return preset.issuer.replace(/\{(\w+)\}/g, (_, name: Placeholder) => {
    const value = settings[name];
    if (value === undefined) {
      problems.push(error(name, `missing; provider-type ${settings["provider-type"]} needs it, or an issuer-url`));
      return "";
    }
    if (!SHAPES[name].test(value)) {
      problems.push(error(name, `${EXPECTED[name]}, not '${value}'; for a whole URL, use issuer-url`));
      return "";
    }
    if (name === "domain" && !value.includes(".")) return value + (preset.domainSuffix ?? "");
    return name === "realm" ? encodeURIComponent(value) : value;
  });
}

const SHAPES: Readonly<Record<Placeholder, RegExp>> = {
  tenant: /^[\w-]+(\.[\w-]+)*$/,
  realm: /^[^/]+$/,
  domain: /^[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?$/i,
};

const EXPECTED: Readonly<Record<Placeholder, string>> = {
  tenant: "must be an ID or a name",
  realm: "must be a name",
  domain: "must be a host name",
};

const WELL_KNOWN = /\/\.well-known\/openid-configuration$/;

function issuerFromUrl(text: string, preset: Preset, problems: OidcProblem[]): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    problems.push(error("issuer-url", "must be a URL that starts with https:// (or http:// on this machine)"));
    return undefined;
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    problems.push(error("issuer-url", "must not contain a user, a query or a fragment"));
    return undefined;
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    const message = "plain http lets an attacker on the network forge tokens; use https://";
    problems.push({ severity: "warning", key: "issuer-url", message });
  }
  const bare = text.replace(/\/+$/, "").replace(WELL_KNOWN, "").replace(/\/+$/, "");
  return preset.issuer?.endsWith("/") ? `${bare}/` : bare;
}

function error(key: string, message: string): OidcProblem {
  return { severity: "error", key, message };
}
