/** An error that the server reported. */
export class PostgresError extends Error {
  /** The SQLSTATE. */
  readonly code: string;
  readonly detail: string | undefined;
  /** The part of the server that reported it, such as a bound parameter. */
  readonly where: string | undefined;
  readonly constraint: string | undefined;
  /** Counts characters (not UTF-16 units) from 1. */
  readonly position: number | undefined;
  /** Whether the server ends the session. */
  readonly isFatal: boolean;

  constructor(fields: ReadonlyMap<string, string>) {
    super(fields.get("M") ?? "unknown error");
    this.name = "PostgresError";
    this.code = fields.get("C") ?? "";
    this.detail = fields.get("D");
    this.where = fields.get("W");
    this.constraint = fields.get("n");
    const position = fields.get("P");
    this.position = position === undefined ? undefined : Number(position);
    this.isFatal = /^(?:FATAL|PANIC)$/.test(fields.get("V") ?? "");
  }
}

export function readError(bytes: Buffer, start: number, end: number): PostgresError {
  const fields = new Map<string, string>();
  for (let at = start; at < end && bytes[at] !== 0; ) {
    const stop = bytes.indexOf(0, at);
    fields.set(String.fromCharCode(bytes[at] ?? 0), bytes.toString("utf8", at + 1, stop));
    at = stop + 1;
  }
  return new PostgresError(fields);
}

/** The connection was lost. */
export class ConnectionLost extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ConnectionLost";
  }
}

/** The position of an error in the SQL, in UTF-16 units. */
export function errorOffset({ position }: PostgresError, sql: string): number | undefined {
  if (position === undefined) return undefined;
  let offset = 0;
  let seen = 1;
  for (const character of sql) {
    if (seen++ >= position) break;
    offset += character.length;
  }
  return offset;
}
