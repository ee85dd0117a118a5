import type { Failure } from "../failure.ts";
import type { Identity } from "./identity.ts";
import type { TokenExchange } from "./oidc/token-exchange.ts";

/** What a caller shows. There is no HTTP in it: agents call as well. */
export interface Credentials {
  /** The `Authorization` header as it was sent. */
  readonly authorization: string | undefined;
  /** Where the caller is: failed attempts are counted by it. */
  readonly address: string;
}

/** Who it is, or why it is not let in. */
export type Authenticated =
  | { readonly kind: "identity"; readonly identity: Identity }
  | { readonly kind: "refused"; readonly failure: Failure };

/** One auth block at work. */
export interface Authenticator {
  /** Synchronous when the credentials are cached or malformed. Never throws, never rejects. */
  authenticate(credentials: Credentials): Authenticated | Promise<Authenticated>;
  /** Exchanges tokens at the provider, where the block allows that. */
  readonly exchange?: TokenExchange | undefined;
}

/** Where the users of a basic block are. */
export interface UserSource {
  find(username: string): Promise<UserEntry | undefined> | UserEntry | undefined;
  /** Grows when any user may have changed: what was verified before is forgotten then. */
  version(): number;
}

export interface UserEntry {
  readonly password: string;
  readonly roles: readonly string[];
}
