import { timingSafeEqual } from "node:crypto";
import { openFingerprint } from "../fingerprint.ts";
import type { OidcPolicy } from "../policy.ts";

/** A request for tokens that may be handed on, or why it may not: an error code of RFC 6749. */
export type TokenRequest =
  | { readonly kind: "allowed"; readonly form: URLSearchParams }
  | { readonly kind: "refused"; readonly error: RefusalCode };

export type RefusalCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_scope"
  | "invalid_target"
  | "unsupported_grant_type";

/** Our own client, as the provider knows it. */
export interface Client {
  readonly id: string;
  readonly secret: string;
}

/** Reads what a caller wants. Only what we understand is handed on. RFC 6749 4.4.2 and 6. */
export function readTokenRequest(
  policy: OidcPolicy,
  client: Client,
  sent: { readonly form: URLSearchParams; readonly authorization: string | undefined },
): TokenRequest {
  const { form, authorization } = sent;
  if (new Set(form.keys()).size < form.size) return refusal("invalid_request");
  const grant = filled(form, "grant_type");
  if (grant === undefined) return refusal("invalid_request");
  const { clientCredentials, refreshTokens } = policy.exchanges;
  const refreshes = grant === "refresh_token" && refreshTokens;
  if (!refreshes && !(grant === "client_credentials" && clientCredentials)) return refusal("unsupported_grant_type");

  const shown = shownClient(form, authorization);
  if (shown === "twice") return refusal("invalid_request");
  // A refresh token speaks for itself; a client that shows itself all the same must be ours.
  const isKnown = refreshes ? shown === "none" || isOurs(client, shown) : shown !== "none" && isWhole(client, shown);
  if (!isKnown) return refusal("invalid_client");

  const handed = new URLSearchParams({ grant_type: grant });
  if (refreshes) {
    const token = filled(form, "refresh_token");
    if (token === undefined) return refusal("invalid_request");
    handed.set("refresh_token", token);
  }
  const asked = filled(form, "scope")?.split(" ");
  if (asked?.some((scope) => !policy.scopes.includes(scope))) return refusal("invalid_scope");
  // A refresh without scopes gets those that were granted, and no others (RFC 6749, section 6).
  const scopes = asked ?? (refreshes ? [] : policy.scopes);
  if (scopes.length > 0) handed.set("scope", scopes.join(" "));
  // Auth0 and RFC 8707 have a name each for whom the token is meant.
  for (const name of ["audience", "resource"]) {
    const target = filled(form, name);
    if (target !== undefined && !policy.audiences.includes(target)) return refusal("invalid_target");
    if (target !== undefined) handed.set(name, target);
  }
  return { kind: "allowed", form: handed };
}

function refusal(error: RefusalCode): TokenRequest {
  return { kind: "refused", error };
}

/** A parameter without a value counts as left out. RFC 6749 3.2. */
function filled(form: URLSearchParams, name: string): string | undefined {
  return form.get(name) || undefined;
}

/** How a caller says who it is. Each text is `id:secret`, in one of the ways in which it may be meant. */
interface ShownClient {
  readonly id: string | undefined;
  readonly texts: readonly string[];
}

function shownClient(form: URLSearchParams, authorization: string | undefined): ShownClient | "none" | "twice" {
  const [id, secret] = [filled(form, "client_id"), filled(form, "client_secret")];
  if (authorization === undefined) {
    if (id === undefined && secret === undefined) return "none";
    return { id, texts: secret === undefined ? [] : [`${id}:${secret}`] };
  }
  if (secret !== undefined) return "twice";
  const basic = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1];
  const text = basic === undefined ? "" : Buffer.from(basic, "base64").toString();
  const at = text.indexOf(":");
  // RFC 6749 2.3.1 wants both parts form-encoded; many clients send them as they are.
  const decoded = at < 0 ? undefined : formDecoded(text.slice(0, at), text.slice(at + 1));
  return { id, texts: [text, ...(decoded === undefined ? [] : [decoded])] };
}

function formDecoded(id: string, secret: string): string | undefined {
  try {
    return [id, secret].map((part) => decodeURIComponent(part.replaceAll("+", " "))).join(":");
  } catch {
    return undefined;
  }
}

/** Ours with its secret. */
function isWhole(client: Client, { id, texts }: ShownClient): boolean {
  const expected = `${client.id}:${client.secret}`;
  const matches = texts.map((text) => sameText(text, expected));
  return (id === undefined || id === client.id) && matches.includes(true);
}

/** Ours, with its secret or by its name alone. */
function isOurs(client: Client, shown: ShownClient): boolean {
  return shown.texts.length === 0 ? shown.id === client.id : isWhole(client, shown);
}

const fingerprint = openFingerprint();

/** Takes the same time whatever differs, and however long it is. */
function sameText(one: string, other: string): boolean {
  return timingSafeEqual(fingerprint(one), fingerprint(other));
}
