import type { Constraint } from "../../failure.ts";

/** The kind of constraint that rejected a change. Undefined for any other error, whatever its message quotes. */
export function constraintOf(message: string): Constraint | undefined {
  if (OWN.test(message)) return kindOf(message, OWN_UNIQUE, OWN);
  // The drivers of attached databases pass on the database's message as a general error.
  if (!ATTACHED.test(message)) return undefined;
  return (
    kindOf(message, SQLITE_UNIQUE, SQLITE_OTHER) ??
    kindOf(postgresReason(message), POSTGRES_UNIQUE, POSTGRES_OTHER) ??
    kindOf(message.slice(-MAX_ENDING_LENGTH), MYSQL_UNIQUE, MYSQL_OTHER)
  );
}

function kindOf(text: string, unique: RegExp, other: RegExp): Constraint | undefined {
  if (unique.test(text)) return "unique";
  return other.test(text) ? "other" : undefined;
}

const OWN = /^Constraint Error: /;
const OWN_UNIQUE = /^Constraint Error: (?:Duplicate key |PRIMARY KEY or UNIQUE constraint |Data contains duplicates )/;

const ATTACHED = /^(?:Invalid|IO|Connection|TransactionContext) Error: /;

const SQLITE_UNIQUE = /^Invalid Error: (?:UNIQUE|PRIMARY KEY) constraint failed(?:: |$)/;
const SQLITE_OTHER = /^Invalid Error: (?:CHECK|NOT NULL|FOREIGN KEY) constraint failed(?:: |$)/;

/** Parts of a Postgres message that quote rows. */
const POSTGRES_DETAILS = /\n(?:DETAIL|HINT|CONTEXT|QUERY|WHERE|LINE \d+): [\s\S]*$/;

/** The message of Postgres itself: from the first `ERROR:` on, or after the SQL if the message quotes it. */
function postgresReason(message: string): string {
  const text = message.replace(POSTGRES_DETAILS, "").trimEnd();
  const first = text.indexOf("ERROR:");
  const isQuoted = text.slice(0, first).includes('"');
  return first < 0 ? "" : text.slice(isQuoted ? text.lastIndexOf('": ERROR:') + 3 : first);
}

const POSTGRES_UNIQUE =
  /^ERROR: +(?:duplicate key value violates unique|conflicting key value violates exclusion) constraint "[^"]*"$/;
const POSTGRES_OTHER =
  /^ERROR: +(?:new row for relation "[^"]*" violates check|value for domain \S+ violates check|null value in column "[^"]*"(?: of relation "[^"]*")? violates not-null|(?:insert or update|update or delete) on table "[^"]*" violates (?:RESTRICT setting of )?foreign key) constraint(?: "[^"]*")?(?: on table "[^"]*")?$/;

/** Longer than any of the message endings below. */
const MAX_ENDING_LENGTH = 2_000;

/** How messages of MySQL and MariaDB end. The SQL before the ending, and a duplicate entry in it, quote values. */
const MYSQL_UNIQUE = /Duplicate entry '[\s\S]*' for key '[^']*'\s*$/;
const MYSQL_OTHER =
  /(?:Check constraint '[^']*' is violated\.?|CONSTRAINT `[^`]*` failed for `[^`]*`\.`[^`]*`|Column '[^']*' cannot be null|Field '[^']*' doesn't have a default value|Cannot (?:add or update a child|delete or update a parent) row: a foreign key constraint fails(?: \([^'"\n]*\))?)\s*$/;
