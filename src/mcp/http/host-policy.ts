import { isIP } from "node:net";
import type { McpSettings } from "../../config/mcp-config.ts";
import { hostName } from "../../http/https-only.ts";

/**
 * Who may call by which name. A page of somebody else can make a browser call us under a name of its own: we answer only
 * to names that are ours, and only pages that we know.
 */
export interface HostPolicy {
  /** Our name as it was called, without its port; undefined when it is none of ours. */
  hostOf(header: string | undefined): string | undefined;
  /** Whether a page may call; `host` is the name by which it calls. */
  isPage(origin: string, host: string): boolean;
}

const LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
/** These are no names, but every address that the machine has. */
const EVERYWHERE: readonly string[] = ["0.0.0.0", "::", "[::]"];

export function bordersOf({ host, publicUrl, allowedHosts, allowedOrigins }: McpSettings): HostPolicy {
  const named = [...LOOPBACK, inBrackets(host), ...allowedHosts, hostIn(publicUrl) ?? ""];
  const hosts = new Set(named.map((name) => (hostName(name) ?? "").toLowerCase()));
  const takesAnyHost = allowedHosts.includes("*");
  // An address cannot be made to point elsewhere: only names can. Where all addresses are ours, all are called.
  const takesAddresses = EVERYWHERE.includes(host);
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
  const isOurs = (name: string): boolean =>
    takesAnyHost || (hosts.has(name) && name !== "") || (takesAddresses && isIP(name.replace(/^\[|\]$/g, "")) !== 0);
  return {
    hostOf(header) {
      const name = hostName(header)?.toLowerCase();
      return name !== undefined && isOurs(name) ? name : undefined;
    },
    isPage(origin, name) {
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
