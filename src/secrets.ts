/** Replaces a secret. */
const MASK = "***";

/** Shorter values are not masked. Values from the environment may be as short as `1`, and messages would become unreadable. */
const SHORTEST_SECRET = 4;

const NAMES =
  "password|passwd|passphrase|pwd|secret|token|credential|authorization|api[-_]?key|access[-_]?key|account[-_]?key|private[-_]?key|encryption[-_]?key|key[-_]?id|connection[-_]?string";
const CREDENTIAL_NAME = new RegExp(NAMES, "i");

/**
 * The name and the value of a credential in connection strings, SQL and JSON: `password=x`, `SECRET 'x'`, `"token": "x"`.
 * Repetitions between the two are bounded, so that matching takes linear time.
 */
const credential = (value: string): RegExp =>
  new RegExp(`((?:${NAMES})[\\w-]{0,40}["']?(?:\\s{0,20}(?:=>|:=|[=:])\\s{0,20}|\\s{1,20}(?=')))(${value})`, "gi");
const SQL_STRING = "'(?:[^']|'')*'";
const CREDENTIAL = credential(`${SQL_STRING}|"(?:[^"\\\\]|\\\\.)*"|[^\\s,;)}'"]+`);
/** libpq reads a backslash as an escape: `password='it\'s'`. */
const QUOTED_CREDENTIAL = credential(`'(?:[^'\\\\]|\\\\.|'')*'|${SQL_STRING}`);
const BEARER = /\b((?:Bearer|Basic)\s{1,20})([\w.~+/=-]{4,})/gi;
const URL_LIKE = /\w:\/\/[^\s'"]+/g;

/** Whether a setting or an option with this name contains a secret. */
export function isCredentialName(name: string): boolean {
  return CREDENTIAL_NAME.test(name);
}

/** The credentials in SQL, a connection string or a URL. */
export function credentialsIn(text: string): readonly string[] {
  const valuesOf = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, , value = ""]) => value);
  const named = [CREDENTIAL, BEARER].flatMap(valuesOf).map(unquote);
  const escaped = valuesOf(QUOTED_CREDENTIAL).map((value) => unquote(value.replace(/\\(.)/gs, "$1")));
  const inUrls = [...text.matchAll(URL_LIKE)].flatMap(([url]) => passwordIn(url) ?? []);
  return [...new Set([...named, ...escaped, ...inUrls])];
}

/** Replaces every secret in a text by `***`, even if it is quoted, escaped or encoded. */
export type Mask = (text: string) => string;

/** Masks the given secrets, and credentials inside them, such as the password in a connection string. */
export function maskOf(secrets: readonly string[]): Mask {
  const forms = new Set(secrets.flatMap((secret) => [secret, ...credentialsIn(secret)]).flatMap(formsOf));
  const maskable = [...forms].filter(({ length }) => length >= SHORTEST_SECRET);
  if (maskable.length === 0) return (text) => text;
  // Longest first, because one secret may contain another.
  const pattern = maskable
    .sort((a, b) => b.length - a.length)
    .map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"))
    .join("|");
  const known = new RegExp(pattern, "gi");
  return (text) => text.replace(known, MASK);
}

/** Like `maskOf`, but also masks everything that looks like a credential. For messages from databases and other programs. */
export function messageMask(secrets: readonly string[]): Mask {
  const known = maskOf(secrets);
  return (message) =>
    // Quoted ones first, as a whole: `known` may mask only some words of them.
    known(message.replace(QUOTED_CREDENTIAL, `$1${MASK}`))
      .replace(BEARER, `$1${MASK}`)
      .replace(CREDENTIAL, `$1${MASK}`)
      .replace(URL_LIKE, maskPassword);
}

/** The password in a URL: `hunter2` in `postgres://me:hunter2@db/x`. It may contain characters that should have been encoded. */
function passwordIn(url: string): string | undefined {
  const userStart = url.indexOf("://") + 3;
  const colon = url.indexOf(":", userStart);
  const passwordEnd = url.lastIndexOf("@");
  if (colon < 0 || colon >= passwordEnd || url.slice(userStart, colon).includes("/")) return undefined;
  return url.slice(colon + 1, passwordEnd);
}

function maskPassword(url: string): string {
  const password = passwordIn(url);
  return password === undefined ? url : url.replace(`:${password}@`, () => `:${MASK}@`);
}

/** A URL for messages: without user and password, and with a masked query, which may contain keys or a signature. */
export function redactUrl(url: string): string {
  return url.replace(/^([a-z][\w+.-]*:\/\/)[^/?#]*@/i, "$1").replace(/[?#].*$/s, `?${MASK}`);
}

/**
 * The forms in which a secret may appear in a message: whole or as single words (libpq quotes only one word of a password with
 * spaces), unchanged, decoded, encoded or escaped.
 */
function formsOf(secret: string): readonly string[] {
  const words = secret.split(/\s+/);
  return [secret, decodePercent(secret), ...words].flatMap((text) => [
    text,
    text.replaceAll("'", "''"),
    text.replace(/['\\]/g, "\\$&"),
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
  ]);
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Removes the quotes of SQL or JSON. */
function unquote(value: string): string {
  const quote = value[0];
  if (quote !== "'" && quote !== '"') return value;
  const inner = value.slice(1, -1);
  return quote === "'" ? inner.replaceAll("''", "'") : inner.replace(/\\(.)/g, "$1");
}
