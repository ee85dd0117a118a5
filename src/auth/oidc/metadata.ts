import type { OidcPolicy } from "../policy.ts";
import { type JsonObject, member, textMember } from "./json.ts";

/** The metadata of a provider, from its discovery document. */
export interface Metadata {
  /** The required `iss` of tokens. Microsoft's issuer for several tenants contains `{tenantid}`. */
  readonly issuer: string;
  readonly keysUrl: string;
  readonly tokenUrl: string | undefined;
  /** How to send the client secret to the token endpoint, the preferred method first. */
  readonly secretMethods: readonly SecretMethod[];
}

const secretMethods = ["client_secret_basic", "client_secret_post"] as const;
export type SecretMethod = (typeof secretMethods)[number];

/** Microsoft's placeholder for the tenant of a token. */
export const TENANT = "{tenantid}";

export function discoveryUrl({ issuerUrl }: OidcPolicy): string {
  return `${withoutSlash(issuerUrl)}/.well-known/openid-configuration`;
}

/** Throws an Error if the document is invalid. */
export function readMetadata(policy: OidcPolicy, document: JsonObject): Metadata {
  const issuer = textMember(document, "issuer");
  if (issuer === undefined || !isConfiguredIssuer(policy, issuer)) {
    const quoted = JSON.stringify(issuer?.slice(0, 200));
    throw new Error(`the discovery document of ${policy.issuerUrl} is that of another issuer, ${quoted}`);
  }
  const keysUrl = safeUrl(policy, document, "jwks_uri");
  if (keysUrl === undefined) throw new Error(`the discovery document of ${policy.issuerUrl} has no usable jwks_uri`);
  const offered = member(document, "token_endpoint_auth_methods_supported");
  const methods = Array.isArray(offered) ? secretMethods.filter((method) => offered.includes(method)) : [];
  return {
    issuer,
    keysUrl,
    tokenUrl: safeUrl(policy, document, "token_endpoint"),
    secretMethods: methods.length === 0 ? ["client_secret_basic"] : methods,
  };
}

function isConfiguredIssuer({ provider, issuerUrl }: OidcPolicy, issuer: string): boolean {
  if (withoutSlash(issuer) === withoutSlash(issuerUrl)) return true;
  return provider === "microsoft" && isTenantOf(withoutSlash(issuerUrl), withoutSlash(issuer));
}

/** Microsoft returns a placeholder for `common`, and the ID of a tenant instead of its name. */
function isTenantOf(ours: string, theirs: string): boolean {
  const configured = /^(.*)\/([^/]+)\/v2\.0$/.exec(ours);
  if (configured === null) return false;
  const [, host, tenant = ""] = configured;
  if (isTenantId(tenant)) return false;
  if (tenant === "common" || tenant === "organizations") return theirs === `${host}/${TENANT}/v2.0`;
  const published = /^(.*)\/([^/]+)\/v2\.0$/.exec(theirs);
  return published !== null && published[1] === host && isTenantId(published[2] ?? "");
}

export function isTenantId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** A URL in the document. Undefined if it is plain HTTP although the issuer uses HTTPS. */
function safeUrl({ issuerUrl }: OidcPolicy, document: JsonObject, name: string): string | undefined {
  const text = textMember(document, name);
  if (text === undefined || !URL.canParse(text)) return undefined;
  const { protocol, username, password } = new URL(text);
  if (username !== "" || password !== "") return undefined;
  const isSafe = protocol === "https:" || (protocol === "http:" && new URL(issuerUrl).protocol === "http:");
  return isSafe ? text : undefined;
}

function withoutSlash(url: string): string {
  return url.endsWith("/") ? url.slice(0, -1) : url;
}
