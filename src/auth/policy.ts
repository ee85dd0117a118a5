/** A user of a block of type basic. `parseStoredPassword` determines whether the password is a hash or plain text. */
export interface User {
  readonly username: string;
  readonly password: string;
  readonly roles: readonly string[];
}

/** An opaque token of a block of type bearer. */
export interface SharedToken {
  readonly token: string;
  readonly username: string | undefined;
  readonly roles: readonly string[];
}

/** Users in AWS Secrets Manager. */
export interface SecretUsers {
  readonly secretName: string;
  /** As written. May include a schema. */
  readonly table: string;
  /** If undefined, region and keys come from the environment, as with AWS's own tools. */
  readonly region: string | undefined;
  readonly accessKeyId: string | undefined;
  readonly secretAccessKey: string | undefined;
  /** SQL that runs at startup, before the table is filled. */
  readonly init: string | undefined;
  readonly refreshMs: number;
}

export interface BasicPolicy {
  readonly kind: "basic";
  readonly users: readonly User[];
  readonly secretUsers: SecretUsers | undefined;
}

export interface BearerPolicy {
  readonly kind: "bearer";
  /** Verifies HS256 tokens. */
  readonly jwt: { readonly secret: string; readonly issuer: string | undefined } | undefined;
  readonly tokens: readonly SharedToken[];
}

export const oidcProviders = ["google", "microsoft", "keycloak", "auth0", "okta", "github", "generic"] as const;
export type OidcProvider = (typeof oidcProviders)[number];

/** A block of type oidc, with the provider's preset applied. */
export interface OidcPolicy {
  readonly kind: "oidc";
  readonly provider: OidcProvider;
  /** Without a trailing slash, unless the provider's issuer has one. Placeholders are replaced. */
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** If empty, any audience is accepted. */
  readonly audiences: readonly string[];
  readonly verifyExpiration: boolean;
  readonly clockSkewSeconds: number;
  readonly usernameClaim: string;
  readonly emailClaim: string;
  readonly rolesClaim: string;
  /** Such as `realm_access.roles`. If the token has this claim, it overrides `rolesClaim`. */
  readonly roleClaimPath: string | undefined;
  readonly groupsClaim: string;
  readonly scopes: readonly string[];
  readonly keysMaxAgeMs: number;
  readonly exchanges: { readonly clientCredentials: boolean; readonly refreshTokens: boolean };
}

/** An enabled `auth` block. */
export type AuthPolicy = BasicPolicy | BearerPolicy | OidcPolicy;
