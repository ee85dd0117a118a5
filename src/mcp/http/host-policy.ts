import { isIP } from "node:net";
import type { McpSettings } from "../../config/mcp-config.ts";
import { hostName } from "../../http/https-only.ts";

/**
 * The allowed hosts and origins. With DNS rebinding, a malicious page can make a browser call Eider under the page's own
 * host name. So Eider accepts only its own host names and known origins.
 */
export interface HostPolicy {
  /** The host name of a request, without its port. Undefined if it is not allowed. */
  hostOf(header: string | undefined): string | undefined;
  /** Whether a page of this origin may send requests. `host` is the host name of the request. */
  allowsOrigin(origin: string, host: string): boolean;
}

const LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
/** With one of these, the server listens on every address of the machine. */
const WILDCARD_ADDRESSES: readonly string[] = ["0.0.0.0", "::", "[::]"];

export function hostPolicyOf({ host, publicUrl, allowedHosts, allowedOrigins }: McpSettings): HostPolicy {
  const names = [...LOOPBACK, inBrackets(host), ...allowedHosts, hostIn(publicUrl) ?? ""];
  const hosts = new Set(names.map((name) => (hostName(name) ?? "").toLowerCase()));
  const allowsAnyHost = allowedHosts.includes("*");
  // DNS rebinding needs a name, so IP addresses are safe. On a wildcard address, clients may use any of them.
  const allowsIpAddresses = WILDCARD_ADDRESSES.includes(host);
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
  const isAllowed = (name: string): boolean =>
    allowsAnyHost ||
    (hosts.has(name) && name !== "") ||
    (allowsIpAddresses && isIP(name.replace(/^\[|\]$/g, "")) !== 0);
  return {
    hostOf(header) {
      const name = hostName(header)?.toLowerCase();
      return name !== undefined && isAllowed(name) ? name : undefined;
    },
    allowsOrigin(origin, name) {
      if (origins.has("*") || origins.has(origin.toLowerCase())) return true;
      const host = hostIn(origin);
      return host !== undefined && (host === name || hosts.has(host));
    },
  };
}

function inBrackets(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

function hostIn(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  return hostname === "" ? undefined : hostname.toLowerCase();
}
