import { z } from "zod";
import { oidcProviders } from "../../auth/policy.ts";
import {
  block,
  choice,
  duration,
  enabled,
  flag,
  integer,
  list,
  nonEmptyString,
  record,
  string,
  strings,
} from "./blocks.ts";

const user = block({
  username: nonEmptyString.describe("Name that the client sends."),
  password: nonEmptyString.describe(
    "A $pbkdf2-sha256$ hash (eider hash-password makes one), an MD5 hash or plain text.",
  ),
  roles: strings.prefault([]).describe("Readable in SQL as auth.roles."),
});

const token = block({
  token: nonEmptyString.describe("What the client sends after 'Bearer'."),
  username: nonEmptyString.optional().describe("Readable in SQL as auth.username."),
  roles: strings.prefault([]).describe("Readable in SQL as auth.roles."),
});

export const oidc = block({
  "issuer-url": nonEmptyString.optional().describe("Discovery base URL; overrides the provider's preset."),
  "client-id": nonEmptyString.describe("OAuth client ID."),
  "client-secret": nonEmptyString.optional().describe("Needed for refresh and client-credentials flows."),
  "provider-type": choice(oidcProviders).prefault("generic").describe("Preset of defaults for an identity provider."),
  tenant: nonEmptyString.optional().describe("Fills {tenant} in the preset's issuer."),
  realm: nonEmptyString.optional().describe("Fills {realm} in the preset's issuer."),
  domain: nonEmptyString.optional().describe("Fills {domain} in the preset's issuer."),
  "allowed-audiences": strings.optional().describe("Acceptable aud values."),
  "verify-expiration": flag.prefault(true).describe("Enforce exp."),
  "clock-skew-seconds": integer().prefault(300).describe("Allowed drift for exp and nbf."),
  "username-claim": nonEmptyString.optional().describe("Claim that becomes auth.username."),
  "email-claim": nonEmptyString.prefault("email").describe("Claim that becomes auth.email."),
  "roles-claim": nonEmptyString.optional().describe("Flat claim that becomes auth.roles."),
  "role-claim-path": nonEmptyString.optional().describe("Dotted path to nested roles, for example realm_access.roles."),
  "groups-claim": nonEmptyString.prefault("groups").describe("Claim that becomes auth.groups."),
  scopes: strings.optional().describe("Scopes requested in a token exchange."),
  "jwks-cache-hours": integer({ min: 1 }).prefault(24).describe("Lifetime of the cached key set."),
  "enable-client-credentials": flag.prefault(false).describe("Allow the client-credentials exchange."),
  "enable-refresh-tokens": flag.prefault(false).describe("Allow the refresh-token exchange."),
});

const secretsManager = block({
  "secret-name": nonEmptyString.describe("Name of the secret."),
  "secret-table": nonEmptyString.optional().describe("Table that the secret is put into."),
  region: nonEmptyString.optional().describe("Cloud region."),
  "secret-id": nonEmptyString.optional().describe("Access key ID; from the environment when absent."),
  "secret-key": nonEmptyString.optional().describe("Secret access key."),
  init: string.optional().describe("SQL that runs at startup."),
  "refresh-interval": duration.prefault("5m").describe("How often the secret is read again."),
});

const types = choice(["basic", "bearer", "oidc"]);
const type = z
  .unknown()
  .refine((value) => value !== "jwt", "there is no type 'jwt'; write 'type: bearer' with a jwt-secret")
  .pipe(types)
  .meta({ ...types.meta() });

const keys = {
  enabled,
  type: type.optional().describe("How the client proves who it is."),
  users: list(user).optional().describe("Users of type basic."),
  "jwt-secret": nonEmptyString.optional().describe("HS256 secret of type bearer."),
  "jwt-issuer": nonEmptyString.optional().describe("The only issuer whose tokens are accepted."),
  token: nonEmptyString.optional().describe("Opaque shared secret of type bearer."),
  tokens: list(token).optional().describe("Opaque secrets of type bearer, each with a user."),
  oidc: oidc.optional().describe("Settings of type oidc."),
  "from-aws-secretmanager": secretsManager.optional().describe("Users of type basic from AWS Secrets Manager."),
};

export const auth = block(keys);

export type AuthInput = z.output<typeof auth>;
export type OidcInput = z.output<typeof oidc>;

/** The same for the MCP server, with exceptions per method. */
export const mcpAuth = block({
  ...keys,
  methods: record(block({ required: flag.describe("Overrides enabled for this MCP method.") })).optional(),
});

export const rateLimit = block({
  enabled,
  max: integer({ min: 1 }).prefault(100).describe("Requests per interval."),
  interval: integer({ min: 1, max: 2_147_483 }).prefault(60).describe("Length of an interval, in seconds."),
  key: choice(["ip", "user", "user-or-ip"]).prefault("ip").describe("Whose requests are counted together."),
  store: nonEmptyString.optional().describe("redis://... shares the count between replicas."),
});

export type RateLimitInput = z.output<typeof rateLimit>;
