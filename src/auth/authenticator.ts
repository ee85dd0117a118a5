import type { Failure } from "../failure.ts";
import type { Identity } from "./identity.ts";
import type { TokenExchange } from "./oidc/token-exchange.ts";

/** The credentials of a client. Independent of HTTP, because MCP clients may use stdio. */
export interface Credentials {
  /** The `Authorization` header as sent. */
  readonly authorization: string | undefined;
}

/** The identity of a client, or why it was rejected. */
export type AuthenticationResult =
  | { readonly kind: "identity"; readonly identity: Identity }
  | { readonly kind: "refused"; readonly failure: Failure };

/** Authenticates clients by the rules of one `auth` block. */
export interface Authenticator {
  /** Synchronous if the credentials are cached or malformed. Never throws, never rejects. */
  authenticate(credentials: Credentials): AuthenticationResult | Promise<AuthenticationResult>;
  /** Exchanges tokens at the provider, if the block allows it. */
  readonly exchange?: TokenExchange | undefined;
}

/** The users of a block of type basic. */
export interface UserSource {
  find(username: string): Promise<UserEntry | undefined> | UserEntry | undefined;
}

export interface UserEntry {
  readonly password: string;
  readonly roles: readonly string[];
}
