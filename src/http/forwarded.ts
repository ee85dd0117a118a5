import type { IncomingMessage } from "node:http";
import { BlockList, isIP, SocketAddress } from "node:net";

/** The proxies whose word counts. */
export interface TrustedProxies {
  /** Entries that are no address and no network. */
  readonly problems: readonly ProxyProblem[];
  /** Of an address as `clientOf` gives it. */
  isTrusted(address: string): boolean;
}

export interface ProxyProblem {
  /** Where it stands in the list, from 0. */
  readonly index: number;
  readonly value: string;
  readonly message: string;
}

/** The client that sent a request, as far as it is known. */
export interface Client {
  /** IPv4 for an IPv4-mapped IPv6 address; empty when the connection is closed. */
  readonly address: string;
  /** Whether the connection from the client to Eider, or to the proxy that it trusts, is encrypted. */
  readonly isSecure: boolean;
  /** The requested host, as it was sent: not validated. */
  readonly host: string | undefined;
}

const NETWORK = /^([^/]+)\/(0|[1-9][0-9]{0,2})$/;
/** `::ffff:0:0/96` holds the IPv4 addresses. */
const MAPPED_BITS = 96;

export function trustedProxies(list: readonly string[]): TrustedProxies {
  const problems: ProxyProblem[] = [];
  // One of each: a network of IPv6 never holds an IPv4 address.
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
  // The prefix of an IPv4-mapped address counts the first 96 bits as well.
  const bits = Number(prefix) - (width === 32 && before.includes(":") ? MAPPED_BITS : 0);
  return bits >= 0 && bits <= width ? { address, bits } : undefined;
}

/**
 * The client of a request. A trusted proxy is believed about the one before it: `X-Forwarded-For` is read from its end up
 * to the first address that is not trusted; of `X-Forwarded-Proto` and `X-Forwarded-Host` the last value counts, which
 * is the one of the proxy next to us. From any other client these headers are ignored.
 */
export function clientOf({ socket, headers }: IncomingMessage, proxies: Pick<TrustedProxies, "isTrusted">): Client {
  const peer = peerAddress(socket.remoteAddress ?? "");
  const isEncrypted = "encrypted" in socket;
  if (!proxies.isTrusted(peer)) return { address: peer, isSecure: isEncrypted, host: headers.host };
  return {
    address: firstBefore(peer, oneText(headers["x-forwarded-for"]), proxies),
    isSecure: isEncrypted || lastOf(oneText(headers["x-forwarded-proto"])).toLowerCase() === "https",
    host: lastOf(oneText(headers["x-forwarded-host"])) || headers.host,
  };
}

/** The address of the other side, canonical except for IPv4-mapped addresses and the name of a network card. */
function peerAddress(address: string): string {
  if (address.startsWith("::ffff:")) return address.slice("::ffff:".length);
  const zone = address.indexOf("%");
  return zone < 0 ? address : address.slice(0, zone);
}

/** The first address before `peer` that is not trusted; what stands before something that is no address counts for nothing. */
function firstBefore(peer: string, hops: string, { isTrusted }: Pick<TrustedProxies, "isTrusted">): string {
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

/** An address with or without a port, as proxies write it: 1.2.3.4:567, ::1, [::1]:5. */
const HOP = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?$/i;

function parseHop(text: string): string | undefined {
  const [, inBrackets, ipv4] = HOP.exec(text) ?? [];
  if (inBrackets !== undefined) return inBrackets.includes(":") ? parseAddress(inBrackets) : undefined;
  return parseAddress(ipv4 ?? text);
}

/** One spelling for each address. With a zone (`fe80::1%eth0`) it means nothing to another machine, and is none. */
function parseAddress(text: string): string | undefined {
  const family = isIP(text);
  if (family === 0 || text.includes("%")) return undefined;
  return family === 4 ? text : peerAddress(new SocketAddress({ address: text, family: "ipv6" }).address);
}

function lastOf(list: string): string {
  return list.slice(list.lastIndexOf(",") + 1).trim();
}

/** Node joins headers that came several times, but its types do not say so. */
function oneText(header: string | string[] | undefined): string {
  return typeof header === "string" ? header : (header?.join(",") ?? "");
}
