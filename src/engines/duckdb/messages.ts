import { RequestFailure } from "../../failure.ts";
import type { Mask } from "../../secrets.ts";
import type { Statement } from "../../sql/statement.ts";
import type { ConnectionDefinition } from "../engine.ts";
import { maskedMessage } from "./masked-message.ts";

/** What DuckDB says, without what it shows below: a piece of the SQL (`LINE 1: ...` and a caret), its own stack. */
export function withoutSql(message: string): string {
  const at = message.search(/\n+(?:LINE \d+:|Stack Trace:)/);
  return (at < 0 ? message : message.slice(0, at)).trimEnd();
}

const REFUSED = /^Invalid Input Error: (4\d\d): ?([\s\S]*)$/;

const UNREACHABLE =
  /connection refused|could ?n[o']t connect|unable to connect|failed to connect|can't connect|connection (?:was |has been )?(?:reset|closed|lost|timed out)|server closed the connection|lost connection to|server has gone away|timed? ?out|timeout|could not (?:resolve|translate) host|host is unreachable|no route to host|network is unreachable|could not establish connection|connection error for http|http[^\n]*(?:error|code|status)[^\n]*\b50[234]\b|missing extension error|could not be autoloaded|extension "[^"]*" not found/i;

const REMOTE =
  /\b(postgres(?:ql)?|mysql|mssql|odbc|bigquery|snowflake|clickhouse|motherduck|httpfs|iceberg|delta|ducklake|quack|aws|azure|unity_catalog)\b|\b(?:https?|s3|s3a|gs|gcs|r2|az|azure|abfss|hf|md):/i;

/** Where an error came from. */
export interface FailedWork {
  readonly connections: readonly ConnectionDefinition[];
  /** Hides the secrets of the project. */
  readonly mask: Mask;
  /** What ran last. */
  readonly statement: Statement | undefined;
}

/** The failure that an error of DuckDB means for work over these connections. */
export function failureOf(error: unknown, { connections, mask, statement }: FailedWork): RequestFailure {
  if (error instanceof RequestFailure) return error;
  const message = mask(withoutSql(messageOf(error)));
  const refused = REFUSED.exec(message);
  if (refused !== null) {
    return new RequestFailure({
      kind: "refused-by-template",
      status: Number(refused[1]),
      message: (refused[2] ?? "").trim(),
    });
  }
  const masked = statement === undefined ? message : maskedMessage(message, statement);
  // The original error still holds secrets and values: it is not handed on.
  const cause = new Error(masked);
  const remote = connections.find((connection) => connection.init !== undefined && REMOTE.test(connection.init));
  return remote !== undefined && UNREACHABLE.test(message)
    ? new RequestFailure({ kind: "connection-down", connection: remote.name }, { cause })
    : new RequestFailure({ kind: "query-failed", message, ...(masked === message ? {} : { masked }) }, { cause });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Somebody else changed the same rows, or the same name, since the transaction began. Another try may do. */
export function isConflict(error: unknown): boolean {
  if (error instanceof ConflictError) return true;
  const message = messageOf(error);
  // A server that was lost in a commit may have done it: that is not tried again.
  return (
    /^TransactionContext Error: (?:Conflict|Catalog write-write conflict|Failed to commit(?!: (?:\w+ Error: )?(?:IO Error|Could not|Failed to (?:execute|run|prepare)))|Transaction conflict)/i.test(
      message,
    ) || REMOTE_CONFLICT.test(message)
  );
}

/** What attached databases say of it: Postgres, MySQL, SQLite. */
const REMOTE_CONFLICT =
  /could not serialize access|deadlock detected|deadlock found when trying to get lock|lock wait timeout exceeded|database (?:table )?is locked/i;

/** A transaction that changes two attached databases. */
export function isOfTwoDatabases(error: unknown): boolean {
  return /Attempting to write to database/.test(messageOf(error));
}

/** A row with the same primary key is there already, in whatever database. */
export function isSameKey(error: unknown): boolean {
  return /Duplicate key|duplicate key value violates|UNIQUE constraint failed|Duplicate entry|violates primary key/.test(
    messageOf(error),
  );
}

/** The user of the connection may not make a table, or there is no place for it. */
export function isForbidden(error: unknown): boolean {
  return /permission denied|command denied|readonly database|read-only|no database selected/i.test(messageOf(error));
}

export function isDuplicateKey(error: unknown): boolean {
  return messageOf(error).startsWith("Constraint Error: Duplicate key");
}

/** Two wrote at the same time, which DuckDB told in other words. */
export class ConflictError extends Error {
  constructor(options: ErrorOptions) {
    super("Conflict", options);
    this.name = "ConflictError";
  }
}

/** A commit that is done, although what DuckDB did after it has failed. */
export function isDurable(error: unknown): boolean {
  return messageOf(error).includes("COMMIT succeeded and is durable");
}
