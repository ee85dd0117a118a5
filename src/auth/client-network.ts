import { createHash } from "node:crypto";

const PLAIN = /^[\w.@+-]{1,64}$/;

/** A key of bounded length: the text itself if it is short and plain, otherwise its hash. */
export function shortKey(kind: string, text: string): string {
  if (PLAIN.test(text)) return `${kind}:${text}`;
  return `${kind}#${createHash("sha256").update(text).digest("base64url")}`;
}

/**
 * The network of an address. A client with one IPv6 address usually has a whole /64, and can use any address in it. The key
 * contains no spaces, and is always short.
 */
export function networkKey(address: string): string {
  if (!address.includes(":")) return shortKey("ip", address);
  const groups = groupsOf(address);
  if (groups === undefined) return shortKey("ip", address);
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
  // `::` replaces at least one group.
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
