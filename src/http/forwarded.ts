import type { IncomingMessage } from "node:http";
import { BlockList, isIP, SocketAddress } from "node:net";

/** The proxies whose forwarding headers are trusted. */
export interface TrustedProxies {
  /** Entries that are neither an address nor a network. */
  readonly problems: readonly ProxyProblem[];
  /** Expects an address as `clientOf` returns it. */
  isTrusted(address: string): boolean;
}

export interface ProxyProblem {
  /** The index in the list. */
  readonly index: number;
  readonly value: string;
  readonly message: string;
}

/** The client of a request, as far as it is known. */
export interface Client {
  /** IPv4 for an IPv4-mapped IPv6 address. Empty if the connection is closed. */
  readonly address: string;
  /** Whether the connection from the client to Eider, or to a trusted proxy, is encrypted. */
  readonly isSecure: boolean;
  /** The requested host, as sent. Not validated. */
  readonly host: string | undefined;
}

const NETWORK = /^([^/]+)\/(0|[1-9][0-9]{0,2})$/;
/** `::ffff:0:0/96` contains the IPv4 addresses. */
const MAPPED_BITS = 96;

export function trustedProxies(list: readonly string[]): TrustedProxies {
  const problems: ProxyProblem[] = [];
  // Separate lists, so that an IPv6 network never matches an IPv4 address.
  const [ipv4, ipv6] = [new BlockList(), new BlockList()];
  for (const [index, value] of list.entries()) {
    const network = parseNetwork(value);
    if (network === undefined) {
      const message = `expected an address or a network, 10.0.0.7, 10.0.0.0/8 or fd00::/8, found '${value}'`;
      problems.push({ index, value, message });
    } else if (isIP(network.address) === 4) ipv4.addSubnet(network.address, network.bits, "ipv4");
    else ipv6.addSubnet(network.address, network.bits, "ipv6");
  }
  if (problems.length === list.length) return { problems, isTrusted: () => false };
  return {
    problems,
    isTrusted: (address) => (address.includes(":") ? ipv6.check(address, "ipv6") : ipv4.check(address, "ipv4")),
  };
}

interface Network {
  readonly address: string;
  readonly bits: number;
}

function parseNetwork(text: string): Network | undefined {
  const [, before = text, prefix] = NETWORK.exec(text) ?? [];
  const address = parseAddress(before);
  if (address === undefined) return undefined;
  const width = isIP(address) === 4 ? 32 : 128;
  if (prefix === undefined) return { address, bits: width };
  // The prefix of an IPv4-mapped address includes the first 96 bits.
  const bits = Number(prefix) - (width === 32 && before.includes(":") ? MAPPED_BITS : 0);
  return bits >= 0 && bits <= width ? { address, bits } : undefined;
}

/**
 * The client of a request. Behind trusted proxies, it is the last address in `X-Forwarded-For` that is not trusted. The
 * last value of `X-Forwarded-Proto` and `X-Forwarded-Host` counts, because the nearest proxy sets it. Without a trusted
 * proxy, these headers are ignored.
 */
export function clientOf({ socket, headers }: IncomingMessage, proxies: Pick<TrustedProxies, "isTrusted">): Client {
  const peer = peerAddress(socket.remoteAddress ?? "");
  const isEncrypted = "encrypted" in socket;
  if (!proxies.isTrusted(peer)) return { address: peer, isSecure: isEncrypted, host: headers.host };
  return {
    address: lastUntrusted(peer, headerText(headers["x-forwarded-for"]), proxies),
    isSecure: isEncrypted || lastOf(headerText(headers["x-forwarded-proto"])).toLowerCase() === "https",
    host: lastOf(headerText(headers["x-forwarded-host"])) || headers.host,
  };
}

/** Node's address is canonical, except for IPv4-mapped addresses and the name of a network interface. */
function peerAddress(address: string): string {
  if (address.startsWith("::ffff:")) return address.slice("::ffff:".length);
  const zone = address.indexOf("%");
  return zone < 0 ? address : address.slice(0, zone);
}

/** The last address in `hops` that is not trusted. An invalid entry ends the search. */
function lastUntrusted(peer: string, hops: string, { isTrusted }: Pick<TrustedProxies, "isTrusted">): string {
  let known = peer;
  for (let end = hops.length; end >= 0; ) {
    const comma = end === 0 ? -1 : hops.lastIndexOf(",", end - 1);
    const address = parseHop(hops.slice(comma + 1, end).trim());
    if (address === undefined) return known;
    known = address;
    if (!isTrusted(address)) return known;
    end = comma;
  }
  return known;
}

/** An address with an optional port, as proxies write it: 1.2.3.4:567, [::1]:5. */
const HOP = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?$/i;

function parseHop(text: string): string | undefined {
  const [, inBrackets, ipv4] = HOP.exec(text) ?? [];
  if (inBrackets !== undefined) return inBrackets.includes(":") ? parseAddress(inBrackets) : undefined;
  return parseAddress(ipv4 ?? text);
}

/** The canonical spelling of an address. Undefined with a zone (`fe80::1%eth0`), which is only valid on one machine. */
function parseAddress(text: string): string | undefined {
  const family = isIP(text);
  if (family === 0 || text.includes("%")) return undefined;
  return family === 4 ? text : peerAddress(new SocketAddress({ address: text, family: "ipv6" }).address);
}

function lastOf(list: string): string {
  return list.slice(list.lastIndexOf(",") + 1).trim();
}

/** Node joins repeated headers, but its types do not say so. */
function headerText(header: string | string[] | undefined): string {
  return typeof header === "string" ? header : (header?.join(",") ?? "");
}
