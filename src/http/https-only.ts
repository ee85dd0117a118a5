import type { IncomingMessage, ServerResponse } from "node:http";
import { isIPv6 } from "node:net";
import { type Client, clientOf, type TrustedProxies } from "./forwarded.ts";

/** Makes browsers use only HTTPS for a year. */
const STRICT_TRANSPORT = ["Strict-Transport-Security", "max-age=31536000"] as const;

/** Health checks and metrics within the network need no certificate. */
const EXEMPT = /^\/(?:health(?:\/(?:live|ready))?|metrics)\/?(?:\?|$)/;

/** A path with its query, in characters that a header allows. Without a fragment. */
const ORIGIN_FORM = /^\/[!"$-~]*$/;

const HOST = /^(?:\[([0-9a-f:.]+)\]|[a-z0-9_](?:[a-z0-9._-]{0,253}))(?::[0-9]{0,5})?$/i;

/** The HTTPS settings of a listener. */
export interface HttpsRules {
  readonly https: { readonly tls: unknown } | undefined;
  readonly proxies: Pick<TrustedProxies, "isTrusted">;
}

/** A plain HTTP request although HTTPS is enforced. `location` is the HTTPS URL, if the client may be redirected. */
export interface HttpsProblem {
  readonly location: string | undefined;
}

/** Enforces HTTPS, and makes browsers use it. Undefined if the request is allowed. */
export function checkHttps(
  request: IncomingMessage,
  response: ServerResponse,
  { https, proxies }: HttpsRules,
): HttpsProblem | undefined {
  if (https === undefined) return undefined;
  const client = clientOf(request, proxies);
  const problem = https.tls === undefined ? httpsProblem(request, client) : undefined;
  if (problem === undefined && client.isSecure) response.setHeader(...STRICT_TRANSPORT);
  return problem;
}

/** Exported for tests. Drops the port of the host, because it is that of plain HTTP. */
export function httpsProblem(
  { method, url = "" }: Pick<IncomingMessage, "method" | "url">,
  { isSecure, host }: Pick<Client, "isSecure" | "host">,
): HttpsProblem | undefined {
  if (isSecure || EXEMPT.test(url)) return undefined;
  // Other methods are not redirected: their body was sent in plain text, which the client must notice.
  const name = method === "GET" || method === "HEAD" ? hostName(host) : undefined;
  return { location: name !== undefined && ORIGIN_FORM.test(url) ? `https://${name}${url}` : undefined };
}

/** The host without its port. Undefined if it is invalid. */
export function hostName(host = ""): string | undefined {
  const match = HOST.exec(host);
  if (match === null) return undefined;
  const ipv6 = match[1];
  if (ipv6 !== undefined) return isIPv6(ipv6) ? `[${ipv6}]` : undefined;
  return host.split(":", 1)[0];
}
