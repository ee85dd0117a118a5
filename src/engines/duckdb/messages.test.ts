import { expect, test } from "vitest";
import { isConflict, withoutSql } from "./messages.ts";

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
])("%j may be tried again: %j", (message, expected) => {
  expect(isConflict(new Error(message))).toBe(expected);
});

test.each([
  ["Binder Error: no column\n\nLINE 1: SELECT x\n               ^", "Binder Error: no column"],
  ["INTERNAL Error: odd\n\nStack Trace:\n\n/somewhere/lib.so(a)", "INTERNAL Error: odd"],
])("%j loses what follows", (message, expected) => {
  expect(withoutSql(message)).toBe(expected);
});
