import { timingSafeEqual } from "node:crypto";
import { openFingerprint } from "../fingerprint.ts";
import type { OidcPolicy } from "../policy.ts";

/** A token request to forward, or the error code of RFC 6749 if it is rejected. */
export type TokenRequest =
  | { readonly kind: "allowed"; readonly form: URLSearchParams }
  | { readonly kind: "refused"; readonly error: RefusalCode };

export type RefusalCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_scope"
  | "invalid_target"
  | "unsupported_grant_type";

/** Eider's own client, as registered at the provider. */
export interface Client {
  readonly id: string;
  readonly secret: string;
}

/** Checks a token request. Forwards only known parameters (RFC 6749, sections 4.4.2 and 6). */
export function readTokenRequest(
  policy: OidcPolicy,
  client: Client,
  sent: { readonly form: URLSearchParams; readonly authorization: string | undefined },
): TokenRequest {
  const { form, authorization } = sent;
  if (new Set(form.keys()).size < form.size) return refusal("invalid_request");
  const grant = nonEmptyValue(form, "grant_type");
  if (grant === undefined) return refusal("invalid_request");
  const { clientCredentials, refreshTokens } = policy.exchanges;
  const isRefresh = grant === "refresh_token" && refreshTokens;
  if (!isRefresh && !(grant === "client_credentials" && clientCredentials)) return refusal("unsupported_grant_type");

  const credentials = readClientCredentials(form, authorization);
  if (credentials === "twice") return refusal("invalid_request");
  // A refresh token is enough, but client credentials that are sent with it must be correct.
  const isKnown = isRefresh
    ? credentials === "none" || isOwnClient(client, credentials)
    : credentials !== "none" && hasCorrectSecret(client, credentials);
  if (!isKnown) return refusal("invalid_client");

  const forwarded = new URLSearchParams({ grant_type: grant });
  if (isRefresh) {
    const token = nonEmptyValue(form, "refresh_token");
    if (token === undefined) return refusal("invalid_request");
    forwarded.set("refresh_token", token);
  }
  const requested = nonEmptyValue(form, "scope")?.split(" ");
  if (requested?.some((scope) => !policy.scopes.includes(scope))) return refusal("invalid_scope");
  // A refresh without scopes gets those granted before (RFC 6749, section 6).
  const scopes = requested ?? (isRefresh ? [] : policy.scopes);
  if (scopes.length > 0) forwarded.set("scope", scopes.join(" "));
  // Auth0 calls the audience `audience`, RFC 8707 calls it `resource`.
  for (const name of ["audience", "resource"]) {
    const target = nonEmptyValue(form, name);
    if (target !== undefined && !policy.audiences.includes(target)) return refusal("invalid_target");
    if (target !== undefined) forwarded.set(name, target);
  }
  return { kind: "allowed", form: forwarded };
}

function refusal(error: RefusalCode): TokenRequest {
  return { kind: "refused", error };
}

/** A parameter without a value counts as absent (RFC 6749, section 3.2). */
function nonEmptyValue(form: URLSearchParams, name: string): string | undefined {
  return form.get(name) || undefined;
}

/** The client credentials in a request. Each candidate is a possible decoding of `id:secret`. */
interface ClientCredentials {
  readonly id: string | undefined;
  readonly candidates: readonly string[];
}

function readClientCredentials(
  form: URLSearchParams,
  authorization: string | undefined,
): ClientCredentials | "none" | "twice" {
  const [id, secret] = [nonEmptyValue(form, "client_id"), nonEmptyValue(form, "client_secret")];
  if (authorization === undefined) {
    if (id === undefined && secret === undefined) return "none";
    return { id, candidates: secret === undefined ? [] : [`${id}:${secret}`] };
  }
  if (secret !== undefined) return "twice";
  const basic = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1];
  const text = basic === undefined ? "" : Buffer.from(basic, "base64").toString();
  const at = text.indexOf(":");
  // RFC 6749, section 2.3.1, requires form encoding, but many clients do not encode.
  const decoded = at < 0 ? undefined : formDecode(text.slice(0, at), text.slice(at + 1));
  return { id, candidates: [text, ...(decoded === undefined ? [] : [decoded])] };
}

function formDecode(id: string, secret: string): string | undefined {
  try {
    return [id, secret].map((part) => decodeURIComponent(part.replaceAll("+", " "))).join(":");
  } catch {
    return undefined;
  }
}

/** Whether ID and secret are correct. */
function hasCorrectSecret(client: Client, { id, candidates }: ClientCredentials): boolean {
  const expected = `${client.id}:${client.secret}`;
  const matches = candidates.map((text) => isSameText(text, expected));
  return (id === undefined || id === client.id) && matches.includes(true);
}

/** Like `hasCorrectSecret`, but the secret may be absent. */
function isOwnClient(client: Client, credentials: ClientCredentials): boolean {
  return credentials.candidates.length === 0 ? credentials.id === client.id : hasCorrectSecret(client, credentials);
}

const fingerprint = openFingerprint();

/** Compares in constant time. */
function isSameText(one: string, other: string): boolean {
  return timingSafeEqual(fingerprint(one), fingerprint(other));
}
