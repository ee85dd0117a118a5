/** The address of a shared store, from `rate-limit.store`. */
export interface StoreAddress {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  readonly tls: boolean;
  /** For messages, without secrets. */
  readonly displayName: string;
}

/** Parses a `redis://` or `rediss://` URL, with optional user, password and database number. Undefined for anything else. */
export function parseStoreAddress(text: string): StoreAddress | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const db = /^\/?(\d{0,5})$/.exec(url.pathname)?.[1];
  const username = decode(url.username);
  const password = decode(url.password);
  if (url.protocol !== "redis:" && url.protocol !== "rediss:") return undefined;
  if (url.hostname === "" || url.search !== "" || url.hash !== "") return undefined;
  if (db === undefined || username === undefined || password === undefined) return undefined;
  const port = url.port === "" ? 6379 : Number(url.port);
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port,
    username: username === "" ? undefined : username,
    password: password === "" ? undefined : password,
    db: Number(db),
    tls: url.protocol === "rediss:",
    displayName: `${url.hostname}:${port}`,
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
