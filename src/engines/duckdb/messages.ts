import { errorMessage, explained } from "../../error-message.ts";
import { RequestFailure } from "../../failure.ts";
import type { Mask } from "../../secrets.ts";
import type { Statement } from "../../sql/statement.ts";
import type { ConnectionDefinition } from "../embedded-engine.ts";
import { maskedMessage } from "../masked-message.ts";
import { constraintOf } from "./constraint-kind.ts";
import { explainText } from "./explanation.ts";

/** DuckDB's message without the excerpt of the SQL (`LINE 1: ...` and a caret) and the stack trace below it. */
export function withoutSql(message: string): string {
  const at = message.search(/\n+(?:LINE \d+:|Stack Trace:)/);
  return (at < 0 ? message : message.slice(0, at)).trimEnd();
}

/** A template rejects a request with `error('403: ...')`. */
const REFUSED = /^Invalid Input Error: (4\d\d): ?([\s\S]*)$/;

/** Other errors are about SQL or data, whatever words they quote. */
const MAY_BE_UNREACHABLE =
  /^(?:IO|HTTP|Connection|Network|Invalid|Missing Extension|Extension|Extension Autoloading|TransactionContext) Error: /;

/** A server that reports an error is reachable. Its message may quote rows. */
const SERVER_ERROR = /(?:^|[\s"]): ?ERROR: /;

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

/** Converts an error from DuckDB into a failure. */
export function failureOf(error: unknown, { connections, mask, statement }: FailedWork): RequestFailure {
  if (error instanceof RequestFailure) return error;
  const message = mask(withoutSql(errorMessage(error)));
  const refused = REFUSED.exec(message);
  if (refused !== null) {
    return new RequestFailure({
      kind: "refused-by-template",
      status: Number(refused[1]),
      message: (refused[2] ?? "").trim(),
    });
  }
  const masked = statement === undefined ? message : maskedMessage(message, statement);
  // The original error still holds secrets and values: it must not be passed on.
  const cause = new Error(masked);
  const remote = connections.find((connection) => connection.init !== undefined && REMOTE.test(connection.init));
  if (remote !== undefined && isUnreachable(message)) {
    const reason = new Error(explained(explainText(masked), masked));
    return new RequestFailure({ kind: "connection-down", connection: remote.name }, { cause: reason });
  }
  const sqlite = connections.find(({ init }) => /sqlite/i.test(init ?? ""));
  if (sqlite !== undefined && isLocked(error)) {
    return new RequestFailure({ kind: "connection-down", connection: sqlite.name }, { cause });
  }
  const constraint = constraintOf(message);
  return new RequestFailure(
    { kind: "query-failed", message, ...(masked !== message && { masked }), ...(constraint && { constraint }) },
    { cause },
  );
}

/** Whether a data source could not be reached, judging by the kind of the error and the driver's words. */
export function isUnreachable(message: string): boolean {
  if (!MAY_BE_UNREACHABLE.test(message) || SERVER_ERROR.test(message)) return false;
  return UNREACHABLE.test(withoutQuoted(message));
}

/** The message without SQL, names and values. An apostrophe (`can't`) is not a quote. */
function withoutQuoted(message: string): string {
  return message.replace(/"[\s\S]*"/, '""').replace(/(?<=[\s(=])'[^']*'/g, "''");
}

/** The driver's own message, without the kind of the error and the SQL before it: `Failed to execute query "...": reason`. */
function reasonOf(message: string): string {
  const reason = message.slice(message.lastIndexOf('": ') < 0 ? 0 : message.lastIndexOf('": ') + 3);
  return reason.replace(/^(?:[A-Za-z ]+ Error: |ERROR: +)*/, "");
}

/** Another transaction changed the same rows or the same name. A retry may succeed. */
export function isConflict(error: unknown): boolean {
  if (error instanceof ConflictError) return true;
  const message = errorMessage(error);
  // A server that became unreachable during a commit may have completed it: such a commit is not retried.
  return (
    /^TransactionContext Error: (?:Conflict|Catalog write-write conflict|Failed to commit(?!: (?:\w+ Error: )?(?:IO Error|Could not|Failed to (?:execute|run|prepare)))|Transaction conflict)/i.test(
      message,
    ) || REMOTE_CONFLICT.test(reasonOf(message))
  );
}

/** The messages of attached databases: Postgres, MySQL, SQLite. */
const REMOTE_CONFLICT =
  /^(?:could not serialize access|deadlock detected|deadlock found when trying to get lock|lock wait timeout exceeded|database (?:table )?is locked)/i;

/** An SQLite file was locked for longer than SQLite waits, most often by another process. */
export function isLocked(error: unknown): boolean {
  const cause = error instanceof RequestFailure ? error.cause : error;
  return /^database (?:table )?is locked/i.test(reasonOf(errorMessage(cause)));
}

/** SQLite could not commit. */
export function isFailedCommit(error: unknown): boolean {
  return errorMessage(error).includes('query "COMMIT": ');
}

/** A transaction tried to change two attached databases. */
export function changesTwoDatabases(error: unknown): boolean {
  return /Attempting to write to database/.test(errorMessage(error));
}

/** A row with the same primary key exists, in any kind of database. */
export function isDuplicateKey(error: unknown): boolean {
  return /Duplicate key|duplicate key value violates|UNIQUE constraint failed|Duplicate entry|violates primary key/.test(
    errorMessage(error),
  );
}

/** The connection's user may not create a table, or no database is selected. */
export function isForbidden(error: unknown): boolean {
  return /permission denied|command denied|readonly database|read-only|no database selected/i.test(errorMessage(error));
}

export function isDuckDbDuplicateKey(error: unknown): boolean {
  return errorMessage(error).startsWith("Constraint Error: Duplicate key");
}

/** A conflict that DuckDB reports as another error. */
export class ConflictError extends Error {
  constructor(options: ErrorOptions) {
    super("Conflict", options);
    this.name = "ConflictError";
  }
}

export function isOutOfMemory(error: unknown): boolean {
  return errorMessage(error).startsWith("Out of Memory Error");
}

/** A commit that succeeded, although the checkpoint after it failed. */
export function isDurable(error: unknown): boolean {
  return errorMessage(error).includes("COMMIT succeeded and is durable");
}

/**
 * Whether DuckDB has invalidated a database, its own or an attached one, because it could not finish a step, most often a
 * checkpoint on a full disk. Committed data are safe, but every query fails until the file is reopened.
 */
export function isLost(message: string): boolean {
  return /^FATAL Error: |^IO Error: Database "[^"]*" has been invalidated/.test(message);
}
