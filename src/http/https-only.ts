import type { IncomingMessage, ServerResponse } from "node:http";
import { isIPv6 } from "node:net";
import { type Client, clientOf, type TrustedProxies } from "./forwarded.ts";

/** Tells browsers to use only HTTPS for a year. */
const STRICT_TRANSPORT = ["Strict-Transport-Security", "max-age=31536000"] as const;

/** Paths that are also served over plain HTTP, for health checks and metrics from inside the network. */
const EXEMPT = /^\/(?:health(?:\/(?:live|ready))?|metrics)\/?(?:\?|$)/;

/** A path and query that can be copied into a `Location` header: printable ASCII without spaces and without a fragment. */
const ORIGIN_FORM = /^\/[!"$-~]*$/;

/** A host name or IP address, with an optional port. The group is an IPv6 address. */
const HOST = /^(?:\[([0-9a-f:.]+)\]|[a-z0-9_](?:[a-z0-9._-]{0,253}))(?::[0-9]{0,5})?$/i;

/** The HTTPS settings of a listener. */
export interface HttpsRules {
  /** Undefined if HTTPS is not enforced. `tls` is undefined if a proxy handles TLS. */
  readonly https: { readonly tls: unknown } | undefined;
  readonly proxies: Pick<TrustedProxies, "isTrusted">;
}

/** A request over plain HTTP while HTTPS is enforced. `location` is the URL to redirect to; undefined: reject the request. */
export interface HttpsProblem {
  readonly location: string | undefined;
}

/** Enforces HTTPS if that is configured, and sets `Strict-Transport-Security`. Undefined if the request is allowed. */
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

/** The URL to redirect to has no port, because the port in the request is that of plain HTTP. Exported for tests. */
export function httpsProblem(
  { method, url = "" }: Pick<IncomingMessage, "method" | "url">,
  { isSecure, host }: Pick<Client, "isSecure" | "host">,
): HttpsProblem | undefined {
  if (isSecure || EXEMPT.test(url)) return undefined;
  // Other requests are rejected, not redirected: their body has already been sent unencrypted, and the client must notice.
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
