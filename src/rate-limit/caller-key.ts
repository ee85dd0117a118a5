import { createHash } from "node:crypto";
import type { RateLimitPolicy } from "./policy.ts";

/** Who a call is counted for. */
export interface Caller {
  readonly address: string;
  readonly username: string | undefined;
}

/**
 * What a call is counted under. It holds no space, and no two callers share one: users and addresses have prefixes of
 * their own, and whatever is long or strange stands there as a hash. decisions 9
 */
export function callerKey(key: RateLimitPolicy["key"], { address, username }: Caller): string {
  switch (key) {
    case "ip":
      return addressKey(address);
    case "user":
    case "user-or-ip":
      return username === undefined ? addressKey(address) : named("user", username);
  }
}

const PLAIN = /^[\w.@+-]{1,64}$/;

function named(kind: string, text: string): string {
  if (PLAIN.test(text)) return `${kind}:${text}`;
  return `${kind}#${createHash("sha256").update(text).digest("base64url")}`;
}

/** One customer of a provider has a whole /64 of IPv6 addresses, and can call from each of them. */
function addressKey(address: string): string {
  if (!address.includes(":")) return named("ip", address);
  const groups = groupsOf(address);
  if (groups === undefined) return named("ip", address);
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return `ip:${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `ip:${network.join(":")}::/64`;
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): readonly number[] | undefined {
  const [text = ""] = address.split("%", 1);
  const [head = "", tail, ...more] = text.split("::");
  const first = partsOf(head);
  const last = partsOf(tail ?? "");
  if (more.length > 0 || first === undefined || last === undefined) return undefined;
  const missing = 8 - first.length - last.length;
  // `::` stands for one group at least.
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  return [...first, ...Array<number>(missing).fill(0), ...last];
}

const GROUP = /^[\da-f]{1,4}$/i;
const DOTTED = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

function partsOf(text: string): readonly number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  for (const part of text.split(":")) {
    const bytes = DOTTED.exec(part)?.slice(1).map(Number);
    if (bytes !== undefined) {
      const [a = 0, b = 0, c = 0, d = 0] = bytes;
      if (bytes.some((byte) => byte > 255)) return undefined;
      groups.push(a * 256 + b, c * 256 + d);
    } else if (GROUP.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}
