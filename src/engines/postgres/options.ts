import type { ConnectionOptions, OptionRules } from "../connection-type.ts";

/** How the connection is encrypted, as libpq names it. */
type SslMode = "disable" | "prefer" | "require" | "verify-ca" | "verify-full";

const SSL_MODES: readonly SslMode[] = ["disable", "prefer", "require", "verify-ca", "verify-full"];

/** The values of `role-claim`: what of the caller names the role. */
const ROLE_CLAIMS = ["username", "email", "roles", "groups"] as const;
export type RoleClaim = (typeof ROLE_CLAIMS)[number];

export const optionRules: OptionRules = {
  options: [
    "url",
    "host",
    "port",
    "database",
    "user",
    "password",
    "schema",
    "ssl",
    "ssl-ca",
    "pool",
    "prepared",
    "application-name",
    "role-claim",
  ],
  required: [["url", "host"]],
  values: {
    port: "integer",
    pool: "integer",
    prepared: "boolean",
    "role-claim": ROLE_CLAIMS,
    ssl: [...SSL_MODES, "true", "false"],
  },
};

/** Where the server is and how to log in. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly database: string | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly ssl: SslMode;
  /** The path of a file with the certificates of trusted authorities. */
  readonly sslCa: string | undefined;
  readonly applicationName: string;
}

export interface PostgresOptions {
  readonly address: Address;
  readonly schema: string | undefined;
  /** Maximum connections to the server. */
  readonly pool: number;
  /** Whether sessions may keep prepared statements and settings. False behind a pooler that shares them among clients. */
  readonly keepsSessions: boolean;
  /** What of the caller names the role that runs its queries. */
  readonly roleClaim: RoleClaim | undefined;
}

const DEFAULT_PORT = 5432;
const DEFAULT_POOL = 16;

/** Reads the options of a connection. Those outside the URL have precedence. */
export function readOptions(options: ConnectionOptions): PostgresOptions {
  const url = options["url"] === undefined ? undefined : readUrl(options["url"]);
  const ssl = options["ssl"]?.toLowerCase() ?? url?.ssl;
  return {
    address: {
      host: options["host"] ?? url?.host ?? "localhost",
      port: Number(options["port"] ?? url?.port ?? DEFAULT_PORT),
      database: options["database"] ?? url?.database,
      user: options["user"] ?? url?.user,
      password: options["password"] ?? url?.password,
      ssl: sslMode(ssl),
      sslCa: options["ssl-ca"] ?? url?.sslCa,
      applicationName: options["application-name"] ?? "eider",
    },
    schema: options["schema"],
    pool: Math.max(1, Number(options["pool"] ?? DEFAULT_POOL)),
    keepsSessions: !/^(?:false|f|0)$/i.test(options["prepared"] ?? "true"),
    roleClaim: ROLE_CLAIMS.find((claim) => claim === options["role-claim"]?.toLowerCase()),
  };
}

function sslMode(text: string | undefined): SslMode {
  if (text === "true") return "verify-full";
  if (text === "false") return "disable";
  return SSL_MODES.find((mode) => mode === text) ?? "prefer";
}

interface UrlParts {
  readonly host: string | undefined;
  readonly port: string | undefined;
  readonly database: string | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly ssl: string | undefined;
  readonly sslCa: string | undefined;
}

/** `postgres://user:password@host:5432/database?sslmode=require`. Throws if it is no URL. */
function readUrl(text: string): UrlParts {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^postgres(?:ql)?:$/.test(url.protocol))
    throw new Error("'url' must have the form postgres://user:password@host:5432/database");
  const part = (encoded: string): string | undefined => (encoded === "" ? undefined : decodeURIComponent(encoded));
  return {
    host: part(url.hostname.replace(/^\[|\]$/g, "")),
    port: part(url.port),
    database: part(url.pathname.slice(1)),
    user: part(url.username),
    password: part(url.password),
    ssl: url.searchParams.get("sslmode") ?? undefined,
    sslCa: url.searchParams.get("sslrootcert") ?? undefined,
  };
}
