/** The HTTP status in a message from DuckDB: `HTTP GET error on '...' (HTTP 404)`, `...: 404 (Not Found)`. */
export function statusOf(message: string): number | undefined {
  const [, status, other] = /\bHTTP (?:code )?(\d{3})\b|: (\d{3}) \(/i.exec(message) ?? [];
  return status === undefined && other === undefined ? undefined : Number(status ?? other);
}

const CREDENTIALS = "create a secret in the init of a connection, or use a connection of type s3-secret";
const TIMED_OUT = /\btime(?:d )?-?out\b/i;
const UNREACHABLE = /could(?:n't| not) (?:connect|resolve|establish)|connection (?:error|refused)|failed to connect/i;
const CLOSED = /returned nothing|connection (?:was )?(?:reset|closed)/i;

/** Why a remote file cannot be read. */
export interface RemoteProblem {
  readonly reason: string;
  /** The server did not respond at all. */
  readonly isUnresponsive: boolean;
}

/** Explains a message from DuckDB. Secrets that could not be created may be the cause. */
export function remoteProblem(message: string, failedSecrets: readonly string[]): RemoteProblem {
  const { reason, fix = "", isUnresponsive = false } = explain(message);
  const [cause = fix] = failedSecrets;
  return { reason: cause === "" ? reason : `${reason}; ${cause}`, isUnresponsive };
}

function explain(message: string): {
  readonly reason: string;
  readonly fix?: string;
  readonly isUnresponsive?: boolean;
} {
  const status = statusOf(message);
  if (status === 401 || status === 403) return { reason: `access denied (HTTP ${status})`, fix: CREDENTIALS };
  if (status === 429 || (status !== undefined && status >= 500))
    return { reason: `its server returned HTTP ${status}` };
  if (TIMED_OUT.test(message)) return { reason: "its server did not respond in time", isUnresponsive: true };
  if (UNREACHABLE.test(message)) return { reason: "its server cannot be reached", isUnresponsive: true };
  return { reason: CLOSED.test(message) ? "its server closed the connection" : message.replace(/\s*\n\s*/g, " ") };
}

/** The extension for a file system cannot be used. */
export class ExtensionError extends Error {
  constructor(extension: string, message: string) {
    const isMissing = /failed to (?:download|copy|install)|not found/i.test(message);
    super(
      isMissing
        ? `the extension '${extension}' is not available; put it into the folder of duckdb.extension_directory, or let Eider reach DuckDB's repository`
        : `the extension '${extension}' cannot be loaded: ${message}`,
    );
    this.name = "ExtensionError";
  }
}
