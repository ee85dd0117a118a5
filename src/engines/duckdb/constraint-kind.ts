import type { Constraint } from "../../failure.ts";

const OWN = /^Constraint Error: /;
const OWN_UNIQUE = /^Constraint Error: (?:Duplicate key |PRIMARY KEY or UNIQUE constraint |Data contains duplicates )/;

/** Drivers of attached databases have no error kind of their own. */
const ATTACHED = /^(?:Invalid|IO|Connection|TransactionContext) Error: /;

/** What follows the message of Postgres itself quotes rows. */
const POSTGRES_DETAILS = /\n(?:DETAIL|HINT|CONTEXT|QUERY|WHERE|LINE \d+): [\s\S]*$/;

/**
 * The last words of each message: those of Postgres, of SQLite, then of MySQL and MariaDB. The SQL, which may hold values,
 * comes before them.
 */
const ATTACHED_UNIQUE = [
  /ERROR: +duplicate key value violates unique constraint "[^"]*"$/,
  /ERROR: +conflicting key value violates exclusion constraint "[^"]*"$/,
  /(?:^|[\s:])(?:UNIQUE|PRIMARY KEY) constraint failed: [^'"]*$/,
  /Duplicate entry '[\s\S]*' for key '[^']*'$/,
];
const ATTACHED_OTHER = [
  /ERROR: +new row for relation "[^"]*" violates check constraint "[^"]*"$/,
  /ERROR: +null value in column "[^"]*"(?: of relation "[^"]*")? violates not-null constraint$/,
  /ERROR: +(?:insert or update|update or delete) on table "[^"]*" violates (?:RESTRICT setting of )?foreign key constraint "[^"]*"(?: on table "[^"]*")?$/,
  /ERROR: +value for domain \S+ violates check constraint "[^"]*"$/,
  /(?:^|[\s:])(?:CHECK|NOT NULL) constraint failed: [^\n]*$/,
  /(?:^|[\s:])FOREIGN KEY constraint failed$/,
  /Check constraint '[^']*' is violated\.?$/,
  /CONSTRAINT `[^`]*` failed for `[^`]*`\.`[^`]*`$/,
  /Column '[^']*' cannot be null$/,
  /Field '[^']*' doesn't have a default value$/,
  /Cannot (?:add or update a child|delete or update a parent) row: a foreign key constraint fails(?: \([^'"\n]*\))?$/,
];

/** Longer than these words. Messages can quote long SQL before them. */
const MOST_CHARACTERS = 2_000;

/** The kind of constraint that rejected a change. Undefined for any other error, whatever its message quotes. */
export function constraintOf(message: string): Constraint | undefined {
  if (OWN.test(message)) return OWN_UNIQUE.test(message) ? "unique" : "other";
  if (!ATTACHED.test(message)) return undefined;
  const text = message.replace(POSTGRES_DETAILS, "").trimEnd().slice(-MOST_CHARACTERS);
  if (ATTACHED_UNIQUE.some((words) => words.test(text))) return "unique";
  return ATTACHED_OTHER.some((words) => words.test(text)) ? "other" : undefined;
}
