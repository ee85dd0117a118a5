/** A user of type basic. The shape of the password shows whether it is a hash or plain text. */
export interface User {
  readonly username: string;
  readonly password: string;
  readonly roles: readonly string[];
}

/** An opaque token of type bearer. */
export interface SharedToken {
  readonly token: string;
  readonly username: string | undefined;
  readonly roles: readonly string[];
}

/** Users in AWS Secrets Manager. */
export interface SecretUsers {
  readonly secretName: string;
  /** As written: it may name a schema. */
  readonly table: string;
  /** What is undefined here comes from the environment, as AWS's own tools do it. */
  readonly region: string | undefined;
  readonly accessKeyId: string | undefined;
  readonly secretAccessKey: string | undefined;
  /** SQL that runs at start, before the table is filled. */
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
  /** HS256 tokens are verified with this secret. */
  readonly jwt: { readonly secret: string; readonly issuer: string | undefined } | undefined;
  readonly tokens: readonly SharedToken[];
}

export const oidcProviders = ["google", "microsoft", "keycloak", "auth0", "okta", "github", "generic"] as const;
export type OidcProvider = (typeof oidcProviders)[number];

/** Type oidc with the provider's preset applied: nothing is left open. */
export interface OidcPolicy {
  readonly kind: "oidc";
  readonly provider: OidcProvider;
  /** Without a slash at the end unless the provider's own issuer has one; placeholders are filled. */
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** None: any audience is accepted. */
  readonly audiences: readonly string[];
  readonly verifyExpiration: boolean;
  readonly clockSkewSeconds: number;
  readonly usernameClaim: string;
  readonly emailClaim: string;
  readonly rolesClaim: string;
  /** `realm_access.roles`: wins over `rolesClaim` where it leads to something. */
  readonly roleClaimPath: string | undefined;
  readonly groupsClaim: string;
  readonly scopes: readonly string[];
  readonly keysMaxAgeMs: number;
  readonly exchanges: { readonly clientCredentials: boolean; readonly refreshTokens: boolean };
}

/** An auth block that is on. */
export type AuthPolicy = BasicPolicy | BearerPolicy | OidcPolicy;
