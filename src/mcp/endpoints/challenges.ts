import { bearerToken } from "../../auth/authorization.ts";
import type { AuthPolicy } from "../../auth/policy.ts";

export interface Challenged {
  readonly authorization: string | undefined;
  /** Scheme and host by which the client came. */
  readonly origin?: string | undefined;
  readonly publicUrl: string | undefined;
  /** Whether there is a document that tells where tokens are had. */
  readonly hasMetadata: boolean;
}

const BASIC = 'Basic realm="eider"';

/**
 * How a client may say who it is, the values of `WWW-Authenticate` in their order. `Bearer` stands first: clients look for
 * the address of the metadata only there. Spec 5, decisions 9.
 */
export function challengesOf(policy: AuthPolicy, challenged: Challenged): readonly string[] {
  if (policy.kind === "basic") return [BASIC];
  const metadata = policy.kind === "oidc" && challenged.hasMetadata ? metadataUrl(challenged) : undefined;
  const scopes = policy.kind === "oidc" ? policy.scopes.filter((scope) => scope !== "offline_access") : [];
  const parameters = [
    metadata === undefined ? 'realm="eider"' : `resource_metadata="${metadata}"`,
    ...(metadata === undefined || scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
    // A client that showed nothing has done nothing wrong; RFC 6750.
    ...(bearerToken(challenged.authorization) === undefined ? [] : ['error="invalid_token"']),
  ];
  return [`Bearer ${parameters.join(", ")}`, BASIC];
}

/** RFC 9728. An address that ends in the path of MCP means the server itself. */
function metadataUrl({ publicUrl, origin }: Challenged): string | undefined {
  const address = publicUrl?.replace(/\/mcp$/, "") ?? origin;
  return address === undefined ? undefined : `${address}/.well-known/oauth-protected-resource/mcp`;
}
