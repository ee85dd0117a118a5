import type { IncomingMessage } from "node:http";
import { clientOf, type TrustedProxies } from "./forwarded.ts";

/** What proxies tell of the client behind them. */
const FORWARDING = ["x-forwarded-for", "forwarded", "x-real-ip", "via"] as const;

const nobody: Pick<TrustedProxies, "isTrusted"> = { isTrusted: () => false };

/**
 * Whether a request comes from this machine itself. A proxy on this machine speaks for others: one that is trusted is believed
 * about them, and from any other a word about somebody else is enough to say no. decisions 1, `/metrics`.
 */
export function isLocalClient(request: IncomingMessage, proxies: Pick<TrustedProxies, "isTrusted">): boolean {
  const peer = clientOf(request, nobody).address;
  if (!isLoopbackAddress(peer) || !isLoopbackAddress(clientOf(request, proxies).address)) return false;
  if (proxies.isTrusted(peer) && request.headers["x-forwarded-for"] !== undefined) return true;
  return FORWARDING.every((name) => request.headers[name] === undefined);
}

function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^127(?:\.\d{1,3}){3}$/.test(address);
}
