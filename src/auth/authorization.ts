import { decodeExactBase64 } from "./base64.ts";

/** An `Authorization` header, split but not decoded. */
export interface Authorization {
  /** In lower case. */
  readonly scheme: string;
  readonly credentials: string;
}

export interface UserAndPassword {
  readonly username: string;
  readonly password: string;
}

/** The listener already rejects longer headers. This check does not rely on it. */
const MAX_LENGTH = 16 * 1024;

// Exactly one space, so that two headers joined by a proxy are invalid.
const SHAPE = /^([\w!#$%&'*+.^`|~-]+) ([\x21-\x7e]+)$/;

/** Undefined if the header is malformed. Never throws. */
export function parseAuthorization(header: string | undefined): Authorization | undefined {
  if (header === undefined || header.length > MAX_LENGTH) return undefined;
  const [, scheme, credentials] = SHAPE.exec(header) ?? [];
  if (scheme === undefined || credentials === undefined) return undefined;
  return { scheme: scheme.toLowerCase(), credentials };
}

/** The token of a `Bearer` header. */
export function bearerToken(header: string | undefined): string | undefined {
  const parsed = parseAuthorization(header);
  return parsed?.scheme === "bearer" ? parsed.credentials : undefined;
}

/** User and password of a `Basic` header. */
export function userAndPassword(header: string | undefined): UserAndPassword | undefined {
  const parsed = parseAuthorization(header);
  if (parsed?.scheme !== "basic") return undefined;
  const bytes = decodeExactBase64(parsed.credentials);
  const text = bytes && decodeUtf8(bytes);
  if (text === undefined || hasControlCharacters(text)) return undefined;
  const colon = text.indexOf(":");
  return colon < 0 ? undefined : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** HTTP Basic does not allow control characters (RFC 7617). */
export function hasControlCharacters(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finds control characters.
  return /[\x00-\x1f\x7f]/.test(text);
}

// `ignoreBOM` keeps a byte order mark. If it were dropped, two different passwords would be equal.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Undefined if the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
