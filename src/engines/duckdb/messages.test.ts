import { expect, test } from "vitest";
import { isConflict, isUnreachable, withoutSql } from "./messages.ts";

test.each([
  ["TransactionContext Error: Conflict on update!", true],
  ["TransactionContext Error: Failed to commit: PRIMARY KEY or UNIQUE constraint violation: duplicate key", true],
  ["TransactionContext Error: Failed to commit: Could not write file", false],
  [
    'Invalid Error: Failed to execute query "UPDATE t": ERROR:  could not serialize access due to concurrent update',
    true,
  ],
  ["Invalid Error: Deadlock found when trying to get lock; try restarting transaction", true],
  ["Invalid Error: database is locked", true],
  ['TransactionContext Error: Failed to commit: Failed to execute query "COMMIT": server closed the connection', false],
  ["Constraint Error: Duplicate key", false],
  // Words of a row are no conflict.
  ['Constraint Error: CHECK constraint failed on table t with expression CHECK((note != "database is locked"))', false],
  [
    'Invalid Error: Failed to execute query "INSERT": ERROR:  new row violates check\nDETAIL:  (deadlock detected)',
    false,
  ],
  ["Invalid Error: Failed to execute query \"INSERT\": Duplicate entry 'deadlock detected' for key 'a'", false],
  ['TransactionContext Error: Failed to commit: Failed to execute query "COMMIT": ERROR:  deadlock detected', true],
])("%j may be tried again: %j", (message, expected) => {
  expect(isConflict(new Error(message))).toBe(expected);
});

test.each([
  ["Binder Error: no column\n\nLINE 1: SELECT x\n               ^", "Binder Error: no column"],
  ["INTERNAL Error: odd\n\nStack Trace:\n\n/somewhere/lib.so(a)", "INTERNAL Error: odd"],
])("%j loses what follows", (message, expected) => {
  expect(withoutSql(message)).toBe(expected);
});

test.each([
  [
    'IO Error: Unable to connect to Postgres at "host=127.0.0.1": connection to server failed: Connection refused',
    true,
  ],
  ['Invalid Error: Failed to execute query "SELECT 1": server closed the connection unexpectedly', true],
  [
    'Invalid Error: Failed to execute query "SELECT 1": FATAL:  terminating connection due to administrator command\nserver closed the connection',
    true,
  ],
  [
    "IO Error: Failed to connect to MySQL database with parameters \"x\": Can't connect to MySQL server on '127.0.0.1:1' (111)",
    true,
  ],
  ['Invalid Error: Failed to run query "SELECT 1": Lost connection to MySQL server during query', true],
  ["IO Error: Could not establish connection error for HTTP HEAD to 'http://127.0.0.1:1/a.parquet'", true],
  ["HTTP Error: Unable to connect to URL http://x/a.parquet: 503 (Service Unavailable)", true],
  ['TransactionContext Error: Failed to commit: Failed to execute query "COMMIT": server closed the connection', true],
  ["Missing Extension Error: File a needs the extension httpfs, which could not be autoloaded", true],
  // What failed is the row, and it holds these words.
  [
    "Constraint Error: CHECK constraint failed on table t with expression CHECK((note = 'connection timed out'))",
    false,
  ],
  [
    'Invalid Error: Failed to execute query "INSERT": ERROR:  new row for relation "t" violates check constraint "c"\nDETAIL:  Failing row contains (1, connection timed out).',
    false,
  ],
  ["Invalid Error: Failed to run query \"INSERT\": Duplicate entry 'connection timed out' for key 'PRIMARY'", false],
  ["Invalid Error: Failed to execute query \"SELECT 'timeout'\": relation is unknown", false],
  ["Conversion Error: Could not convert string 'connection refused' to INT32", false],
  ["Invalid Input Error: connection timed out", false],
  ["HTTP Error: HTTP GET error on 'http://x/timeout.parquet' (HTTP 404)", false],
])("%j: the source is down: %j", (message, expected) => {
  expect(isUnreachable(message)).toBe(expected);
});
