import { EngineOpenError } from "../engines/engine.ts";

/** Where the catalog of a lake is kept. */
export type LakeAddress =
  /** A DuckDB file, which one process at a time can open. */
  | { readonly kind: "file"; readonly path: string }
  /** The same with SQLite. */
  | { readonly kind: "sqlite"; readonly path: string }
  /** A server that many processes share. */
  | {
      readonly kind: "postgres";
      /** For libpq, without the password. */
      readonly connection: string;
      readonly password: string | undefined;
      /** Strings that no message may contain. */
      readonly secrets: readonly string[];
    };

/**
 * Parses a `metadata-path`: a file, `sqlite:<file>`, or `postgres:` and a libpq connection string, such as `dbname=x host=y` or
 * a URL. Throws an EngineOpenError that does not quote it.
 */
export function parseLakeAddress(metadataPath: string): LakeAddress {
  const text = metadataPath.replace(/^ducklake:/i, "").trim();
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+]+):(.*)$/is.exec(text) ?? [];
  switch (scheme.toLowerCase()) {
    case "":
      return { kind: "file", path: text };
    case "duckdb":
      return { kind: "file", path: rest };
    case "sqlite":
      return { kind: "sqlite", path: rest };
    case "postgres":
    case "postgresql":
      return parsePostgres(rest.startsWith("//") ? `postgres:${rest}` : rest.trim());
    default:
      throw invalidPath("expected a file, sqlite:<file> or postgres:<connection>");
  }
}

function parsePostgres(text: string): LakeAddress {
  const settings = /^postgres(?:ql)?:\/\//i.test(text) ? parseUrl(text) : parsePairs(text);
  const { password, ...others } = settings;
  const connection = Object.entries(others).map(([name, value]) => `${name}=${quotedValue(value)}`);
  const secrets = Object.entries(settings)
    .filter(([name, value]) => /pass|secret|token/.test(name) && value !== "")
    .map(([, value]) => value);
  return { kind: "postgres", connection: connection.join(" "), password, secrets };
}

type Settings = Readonly<Record<string, string>>;

/** Parses settings as libpq does: a quoted value may contain spaces, and a backslash escapes the next character. */
function parsePairs(text: string): Settings {
  const pair = /\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?:\s+|$)/sy;
  const settings: Record<string, string> = {};
  while (pair.lastIndex < text.length) {
    const [, name, quoted, plain = ""] = pair.exec(text) ?? [];
    if (name === undefined)
      throw invalidPath("not a Postgres connection; use one such as postgres:dbname=cache host=db");
    settings[name] = (quoted ?? plain).replace(/\\(.)/gs, "$1");
  }
  return settings;
}

function parseUrl(text: string): Settings {
  let url: URL;
  const parts: [name: string, value: string][] = [];
  try {
    url = new URL(text);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const names = { user: url.username, password: url.password, host, port: url.port, dbname: url.pathname.slice(1) };
    for (const [name, value] of Object.entries(names)) if (value !== "") parts.push([name, decodeURIComponent(value)]);
  } catch {
    throw invalidPath("not a Postgres URL; use one such as postgres://user@host/database");
  }
  return Object.fromEntries([...parts, ...url.searchParams]);
}

function quotedValue(value: string): string {
  return `'${value.replace(/['\\]/g, "\\$&")}'`;
}

function invalidPath(message: string): EngineOpenError {
  return new EngineOpenError(`metadata-path: ${message}`, "metadata-path");
}
