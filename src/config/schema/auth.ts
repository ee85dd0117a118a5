import { z } from "zod";
import { oidcProviders } from "../../auth/policy.ts";
import { block, choice, duration, filledText, flag, list, record, text, texts, whole } from "./blocks.ts";

const user = block({
  username: filledText.describe("Name that the client sends."),
  password: filledText.describe("A $pbkdf2-sha256$ hash (eider hash-password makes one), an MD5 hash or plain text."),
  roles: texts.optional().describe("Readable in SQL as auth.roles."),
});

const token = block({
  token: filledText.describe("What the client sends after 'Bearer'."),
  username: filledText.optional().describe("Readable in SQL as auth.username."),
  roles: texts.optional().describe("Readable in SQL as auth.roles."),
});

const oidc = block({
  "issuer-url": filledText.optional().describe("Discovery base URL; wins over what the provider's preset says."),
  "client-id": filledText.describe("OAuth client ID."),
  "client-secret": filledText.optional().describe("Needed for refresh and client-credentials flows."),
  "provider-type": choice(oidcProviders).optional().describe("Preset; generic when absent."),
  tenant: filledText.optional().describe("Fills {tenant} in the preset's issuer."),
  realm: filledText.optional().describe("Fills {realm} in the preset's issuer."),
  domain: filledText.optional().describe("Fills {domain} in the preset's issuer."),
  "allowed-audiences": texts.optional().describe("Acceptable aud values."),
  "verify-expiration": flag.optional().describe("Enforce exp; true when absent."),
  "clock-skew-seconds": whole().optional().describe("Allowed drift for exp and nbf; 300 when absent."),
  "username-claim": filledText.optional().describe("Claim that becomes auth.username."),
  "email-claim": filledText.optional().describe("Claim that becomes auth.email."),
  "roles-claim": filledText.optional().describe("Flat claim that becomes auth.roles."),
  "role-claim-path": filledText.optional().describe("Dotted path to nested roles, realm_access.roles."),
  "groups-claim": filledText.optional().describe("Claim that becomes auth.groups."),
  scopes: texts.optional().describe("Scopes requested in a token exchange."),
  "jwks-cache-hours": whole({ min: 1 }).optional().describe("Lifetime of the cached key set; 24 when absent."),
  "enable-client-credentials": flag.optional().describe("Allow the client-credentials exchange."),
  "enable-refresh-tokens": flag.optional().describe("Allow the refresh-token exchange."),
});

const secretsManager = block({
  "secret-name": filledText.describe("Name of the secret."),
  "secret-table": filledText.optional().describe("Table that the secret is put into."),
  region: filledText.optional().describe("Cloud region."),
  "secret-id": filledText.optional().describe("Access key ID; from the environment when absent."),
  "secret-key": filledText.optional().describe("Secret access key."),
  init: text.optional().describe("SQL that runs at start."),
  "refresh-interval": duration.optional().describe("How often the secret is read again; 5m when absent."),
});

const type = z
  .unknown()
  .refine((value) => value !== "jwt", "there is no type 'jwt'; write 'type: bearer' with a jwt-secret")
  .pipe(choice(["basic", "bearer", "oidc"]));

const keys = {
  enabled: flag.optional().describe("A block that is present is on unless this is false."),
  type: type.optional().describe("How the client proves who it is."),
  users: list(user).optional().describe("Users of type basic."),
  "jwt-secret": filledText.optional().describe("HS256 secret of type bearer."),
  "jwt-issuer": filledText.optional().describe("The only issuer whose tokens are accepted."),
  token: filledText.optional().describe("Opaque shared secret of type bearer."),
  tokens: list(token).optional().describe("Opaque secrets of type bearer, each with a user."),
  oidc: oidc.optional().describe("Settings of type oidc."),
  "from-aws-secretmanager": secretsManager.optional().describe("Users of type basic from AWS Secrets Manager."),
};

/** Who may call. Spec 5. */
export const auth = block(keys);

export type AuthInput = z.output<typeof auth>;

/** The same for the MCP server, with exceptions by method. Spec 5.5. */
export const mcpAuth = block({
  ...keys,
  methods: record(block({ required: flag.describe("Overrides enabled for this MCP method.") })).optional(),
});

/** How often one may call. Spec 2.5. */
export const rateLimit = block({
  enabled: flag.optional().describe("A block that is present is on unless this is false."),
  max: whole({ min: 1 }).optional().describe("Requests per interval; 100 when absent."),
  interval: whole({ min: 1, max: 2_147_483 }).optional().describe("Seconds; 60 when absent."),
  key: choice(["ip", "user", "user-or-ip"]).optional().describe("What is counted; ip when absent."),
  store: filledText.optional().describe("redis://... shares the count between replicas."),
});

export type RateLimitInput = z.output<typeof rateLimit>;
