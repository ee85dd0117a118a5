import { errorCode, errorMessage } from "../../error-message.ts";
import { type Constraint, type Failure, RequestFailure } from "../../failure.ts";
import type { Mask } from "../../secrets.ts";
import type { Statement } from "../../sql/statement.ts";
import { maskedMessage } from "../masked-message.ts";
import { badValue } from "./parameters.ts";
import { MessageTooLong } from "./wire/frames.ts";
import { ConnectionLost, errorOffset, PostgresError } from "./wire/postgres-error.ts";

export interface FailedWork {
  readonly connection: string;
  readonly mask: Mask;
  /** What ran last. */
  readonly statement: Statement | undefined;
  readonly maxValueBytes: number;
  /** Whether the role of the session depends on the caller. */
  readonly hasCallersRole: boolean;
}

/** `RAISE EXCEPTION '403: not yours'`, as `error('403: ...')` in DuckDB. */
const REFUSED = /^(4\d\d): ?([\s\S]*)$/;
const RAISED = "P0001";

/** Errors of the network, as Node.js names them. */
const NETWORK =
  /^(?:ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE|EADDR|ERR_TLS|ERR_SSL|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|ENOENT)/;

/** Lost connections, servers that start or stop, databases and users that do not exist, and rejected passwords. */
const UNREACHABLE = /^(?:08|57P0|28|3D)/;

/** Converts an error into a failure. */
export function failureOf(error: unknown, work: FailedWork): RequestFailure {
  if (error instanceof RequestFailure) return error;
  if (error instanceof PostgresError) return serverFailure(error, work);
  const { connection, mask, maxValueBytes, statement } = work;
  if (error instanceof MessageTooLong) {
    const message = `a row of ${error.bytes} bytes is longer than limits.max-value-bytes (${maxValueBytes}) allows; return less of it, or raise the limit`;
    return new RequestFailure({ kind: "query-failed", message });
  }
  const message = mask(errorMessage(error));
  if (isUnreachable(error)) return down(connection, message);
  return queryFailed(message, statement, error);
}

/** Whether the server could not be reached, or did not accept the connection. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof ConnectionLost) return true;
  if (error instanceof PostgresError) return UNREACHABLE.test(error.code);
  return (
    NETWORK.test(errorCode(error) ?? "") ||
    /timeout expired|does not support SSL|SSL connection/.test(errorMessage(error))
  );
}

/** The failure of a server that cannot be reached. Its cause is for the log. */
export function down(connection: string, message: string): RequestFailure {
  return new RequestFailure({ kind: "connection-down", connection }, { cause: new Error(message) });
}

function serverFailure(error: PostgresError, work: FailedWork): RequestFailure {
  const { connection, mask, statement, hasCallersRole } = work;
  const { code } = error;
  const refused = code === RAISED ? REFUSED.exec(error.message) : null;
  if (refused !== null) return refusal(Number(refused[1]), refused[2] ?? "");
  // `RAISE SQLSTATE 'PT403'`
  const [, status] = /^PT(4\d\d)$/.exec(code) ?? [];
  if (status !== undefined) return refusal(Number(status), error.message);
  if (isConflict(error)) return new RequestFailure({ kind: "conflict" }, { cause: new Error(error.message) });
  if (UNREACHABLE.test(code)) return down(connection, mask(error.message));
  if (code.startsWith("53"))
    return new RequestFailure({ kind: "overloaded" }, { cause: new Error(mask(error.message)) });
  if (hasCallersRole && (code === "42501" || /^role ".*" does not exist$/.test(error.message)))
    return refusal(403, "permission denied");
  if (isBadValue(error))
    return badValue("A value has a form that the database does not accept.", { cause: new Error(code) });
  return queryFailed(mask(described(error, statement)), statement, error);
}

function refusal(status: number, message: string): RequestFailure {
  return new RequestFailure({ kind: "refused-by-template", status, message: message.trim() });
}

/** The message with the place in the SQL, but without details, which show rows. */
function described(error: PostgresError, statement: Statement | undefined): string {
  const offset = statement && errorOffset(error, statement.sql);
  if (statement === undefined || offset === undefined) return error.message;
  const before = statement.sql.slice(0, offset).split("\n");
  return `${error.message} (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1} of the statement)`;
}

function queryFailed(message: string, statement: Statement | undefined, error: unknown): RequestFailure {
  const masked = statement === undefined ? message : maskedMessage(message, statement);
  const constraint = error instanceof PostgresError ? constraintOf(error.code) : undefined;
  const failure: Failure = {
    kind: "query-failed",
    message,
    ...(masked !== message && { masked }),
    ...(constraint && { constraint }),
  };
  // The original error may hold secrets and values: it must not be passed on.
  return new RequestFailure(failure, { cause: new Error(masked) });
}

function constraintOf(code: string): Constraint | undefined {
  if (code === "23505" || code === "23P01") return "unique";
  return code.startsWith("23") ? "other" : undefined;
}

/** Another transaction changed the same rows: the whole transaction may be run again. */
export function isConflict(error: unknown): boolean {
  return error instanceof PostgresError && (error.code === "40001" || error.code === "40P01");
}

/** Whether a bound value cannot be converted to the type that the statement needs. */
function isBadValue({ code, where }: PostgresError): boolean {
  return /^22(?:P02|P03|003|007|008|021|P05)$/.test(code) && /parameter \$\d+/.test(where ?? "");
}

/** Codes for a statement whose types or functions cannot be resolved with the types of its values. */
export function isUnresolved(error: unknown): boolean {
  return error instanceof PostgresError && /^(?:42883|42804|42725|42P18|42P08|42846)$/.test(error.code);
}

/** Whether a prepared statement is unknown to the server, or its columns have changed. */
export function isOutdatedPlan(error: unknown): boolean {
  if (!(error instanceof PostgresError)) return false;
  return error.code === "26000" || (error.code === "0A000" && error.message.includes("cached plan"));
}
