import type { IncomingMessage } from "node:http";
import { isIPv6 } from "node:net";
import type { Client } from "./forwarded.ts";

/** On secure responses where HTTPS is enforced: browsers do not try plain HTTP for a year. */
export const strictTransport = ["Strict-Transport-Security", "max-age=31536000"] as const;

/** Those who look after the service from within the network need no certificate. */
const EXEMPT = /^\/(?:health(?:\/(?:live|ready))?|metrics)\/?(?:\?|$)/;

/** A path with its query, in characters that can stand in a header. A fragment is no part of it. */
const ORIGIN_FORM = /^\/[!"$-~]*$/;

const HOST = /^(?:\[([0-9a-f:.]+)\]|[a-z0-9_](?:[a-z0-9._-]{0,253}))(?::[0-9]{0,5})?$/i;

/**
 * What is wrong with a request where HTTPS is enforced and a proxy terminates TLS: nothing, or it came in plain
 * text and is redirected, or it is rejected. The port of the host is dropped: it is the one for plain text.
 */
export function httpsProblem(
  { method, url = "" }: Pick<IncomingMessage, "method" | "url">,
  { isSecure, host }: Pick<Client, "isSecure" | "host">,
): { readonly location: string } | "refused" | undefined {
  if (isSecure || EXEMPT.test(url)) return undefined;
  // The body was already sent in plain text: the client must learn of it.
  if (method !== "GET" && method !== "HEAD") return "refused";
  const name = hostName(host);
  return name !== undefined && ORIGIN_FORM.test(url) ? { location: `https://${name}${url}` } : "refused";
}

/** The host without its port, or undefined when it is none. */
export function hostName(host = ""): string | undefined {
  const match = HOST.exec(host);
  if (match === null) return undefined;
  const ipv6 = match[1];
  if (ipv6 !== undefined) return isIPv6(ipv6) ? `[${ipv6}]` : undefined;
  return host.split(":", 1)[0];
}
