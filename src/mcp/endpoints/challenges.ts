import { bearerToken } from "../../auth/authorization.ts";
import type { AuthPolicy } from "../../auth/policy.ts";

export interface ChallengeInput {
  readonly authorization: string | undefined;
  /** Scheme and host of the request. */
  readonly origin?: string | undefined;
  readonly publicUrl: string | undefined;
  /** Whether the server publishes protected resource metadata. */
  readonly hasMetadata: boolean;
}

const BASIC = 'Basic realm="eider"';

/**
 * The values of `WWW-Authenticate`, in order. `Bearer` comes first, because clients look for the URL of the metadata only
 * there. See docs/security.md.
 */
export function challengesOf(policy: AuthPolicy, input: ChallengeInput): readonly string[] {
  if (policy.kind === "basic") return [BASIC];
  const metadata = policy.kind === "oidc" && input.hasMetadata ? metadataUrl(input) : undefined;
  const scopes = policy.kind === "oidc" ? policy.scopes.filter((scope) => scope !== "offline_access") : [];
  const parameters = [
    metadata === undefined ? 'realm="eider"' : `resource_metadata="${metadata}"`,
    ...(metadata === undefined || scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
    // Without credentials, there must be no error code (RFC 6750).
    ...(bearerToken(input.authorization) === undefined ? [] : ['error="invalid_token"']),
  ];
  return [`Bearer ${parameters.join(", ")}`, BASIC];
}

/** The URL of the metadata (RFC 9728). `publicUrl` may include the path `/mcp`. */
function metadataUrl({ publicUrl, origin }: ChallengeInput): string | undefined {
  const base = publicUrl?.replace(/\/mcp$/, "") ?? origin;
  return base === undefined ? undefined : `${base}/.well-known/oauth-protected-resource/mcp`;
}
