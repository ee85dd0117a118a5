/** Stands where a secret was. */
const MASK = "***";

/** A value like `1` or `EU` also comes from the environment; without it no message could be read. */
const SHORTEST_SECRET = 4;

const NAMES =
  "password|passwd|passphrase|pwd|secret|token|credential|authorization|api[-_]?key|access[-_]?key|account[-_]?key|private[-_]?key|key[-_]?id|connection[-_]?string";
const CREDENTIAL_NAME = new RegExp(NAMES, "i");

/**
 * `password=x`, `SECRET 'x'`, `"token": "x"`, as connection strings, SQL and JSON write them. Repetitions have bounds, so that
 * a long message costs time in proportion to its length.
 */
const CREDENTIAL = new RegExp(
  `((?:${NAMES})[\\w-]{0,40}["']?(?:\\s{0,20}(?:=>|:=|[=:])\\s{0,20}|\\s{1,20}(?=')))('(?:[^']|'')*'|"(?:[^"\\\\]|\\\\.)*"|[^\\s,;)}'"]+)`,
  "gi",
);
const BEARER = /\b((?:Bearer|Basic)\s{1,20})([\w.~+/=-]{4,})/gi;
const ADDRESS = /\w:\/\/[^\s'"]+/g;

/** Whether the value of a setting or an option with this name is for nobody else. */
export function isCredentialName(name: string): boolean {
  return CREDENTIAL_NAME.test(name);
}

/** Credentials that stand in SQL, in a connection string or in a URL. */
export function credentialsIn(text: string): readonly string[] {
  const named = [CREDENTIAL, BEARER].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, , value = ""]) => unquoted(value)),
  );
  return [...named, ...[...text.matchAll(ADDRESS)].flatMap(([address]) => passwordIn(address) ?? [])];
}

/** Makes texts safe to show: secrets are masked in every form in which others quote them. */
export type Mask = (text: string) => string;

/** Masks these texts, and nothing else. */
export function maskOf(secrets: readonly string[]): Mask {
  const forms = new Set(secrets.flatMap((secret) => [secret, ...credentialsIn(secret)]).flatMap(formsOf));
  const written = [...forms].filter(({ length }) => length >= SHORTEST_SECRET);
  if (written.length === 0) return (text) => text;
  // The longest first: one may be a part of another.
  const pattern = written
    .sort((a, b) => b.length - a.length)
    .map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"))
    .join("|");
  const known = new RegExp(pattern, "gi");
  return (text) => text.replace(known, MASK);
}

/** The same, and whatever looks like a credential: for messages of databases and of other programs. */
export function messageMask(secrets: readonly string[]): Mask {
  const known = maskOf(secrets);
  return (message) =>
    known(message).replace(BEARER, `$1${MASK}`).replace(CREDENTIAL, `$1${MASK}`).replace(ADDRESS, withoutPassword);
}

/** `hunter2` in `postgres://me:hunter2@db/x`, also where it holds what should have been encoded. */
function passwordIn(address: string): string | undefined {
  const host = address.lastIndexOf("@");
  const user = address.indexOf("://") + 3;
  const colon = address.indexOf(":", user);
  return colon < 0 || colon >= host || address.slice(user, colon).includes("/")
    ? undefined
    : address.slice(colon + 1, host);
}

function withoutPassword(address: string): string {
  const password = passwordIn(address);
  return password === undefined ? address : address.replace(`:${password}@`, () => `:${MASK}@`);
}

/** A URL for messages: without a user and a password, and without a query, which may hold keys or a signature. */
export function shownAddress(address: string): string {
  return address.replace(/^([a-z][\w+.-]*:\/\/)[^/?#]*@/i, "$1").replace(/[?#].*$/s, `?${MASK}`);
}

/** As it is, as its parts (libpq quotes one of them when a password holds a space), escaped, encoded and decoded. */
function formsOf(secret: string): readonly string[] {
  const words = secret.split(/\s+/);
  return [secret, decoded(secret), ...words].flatMap((text) => [
    text,
    text.replaceAll("'", "''"),
    text.replace(/['\\]/g, "\\$&"),
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
  ]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What SQL or JSON quotes. */
function unquoted(value: string): string {
  const quote = value[0];
  if (quote !== "'" && quote !== '"') return value;
  const inner = value.slice(1, -1);
  return quote === "'" ? inner.replaceAll("''", "'") : inner.replace(/\\(.)/g, "$1");
}
