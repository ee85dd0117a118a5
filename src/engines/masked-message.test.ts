import { expect, test } from "vitest";
import type { BoundValue } from "../sql/statement.ts";
import { maskedMessage } from "./masked-message.ts";

const number = (value: bigint): BoundValue => ({ type: "BIGINT", value });
const text = (value: string): BoundValue => ({ type: "VARCHAR", value });
const sql = "SELECT CAST($1 AS INT) AS age FROM customers WHERE id = 7";

test.each([
  // A value as it is, in quotes or not, in another case, in part.
  [
    "Conversion Error: Could not convert string 'hunter2' to INT32",
    [text("hunter2")],
    "Conversion Error: Could not convert string '***' to INT32",
  ],
  ["Invalid Input Error: Password HUNTER2 is weak", [text("hunter2")], "Invalid Input Error: Password *** is weak"],
  ["Invalid Input Error: missing ): (hunter2", [text("(hunter2")], "Invalid Input Error: missing ): ***"],
  ["Invalid Input Error: no Anna here", [text("%Anna Miller%")], "Invalid Input Error: no *** here"],
  ["Conversion Error: 'O'Brien' is no date", [text("O'Brien")], "Conversion Error: '***' is no date"],
  [
    'Invalid Input Error: bad "x y", cut after "abc...',
    [text("abcdef")],
    'Invalid Input Error: bad "***", cut after "***"',
  ],
  // Short ones as whole words.
  ["Invalid Input Error: a cannot stand alone", [text("a")], "Invalid Input Error: *** cannot stand alone"],
  // Numbers in another form, and those that became part of the SQL.
  [
    "Out of Range Error: Overflow (42 * 9000000)!",
    [text("0042"), number(9000000n)],
    "Out of Range Error: Overflow (*** * ***)!",
  ],
  ["Invalid Input Error: 7 of 100 in INT32", [], "Invalid Input Error: *** of 100 in INT32"],
  // Rows, as DuckDB and Postgres quote them.
  [
    'Constraint Error: Duplicate key "email: a@b.c" violates unique constraint.',
    [text("a@b.c")],
    'Constraint Error: Duplicate key "***" violates unique constraint.',
  ],
  [
    "ERROR: duplicate key\nDETAIL:  Key (email)=(a (b) c) already exists.",
    [text("z")],
    "ERROR: duplicate key\nDETAIL:  Key (email)=(***) already exists.",
  ],
  ["DETAIL:  Failing row contains (1, abc, nu", [text("zzz")], "DETAIL:  Failing row contains (***)"],
  // Names that the author wrote stay, and apostrophes are no quotes.
  [
    'Binder Error: column "age" of \'customers\' isn\'t in "other"',
    [text("x1x1")],
    'Binder Error: column "age" of \'customers\' isn\'t in "***"',
  ],
  ['Catalog Error: Table with name "gone" does not exist', [], 'Catalog Error: Table with name "gone" does not exist'],
  [
    "Out of Memory Error: failed to allocate data of size 128.0 MiB (12.5 MiB/244.1 MiB used)",
    [text("x")],
    "Out of Memory Error: failed to allocate data of size 128.0 MiB (12.5 MiB/244.1 MiB used)",
  ],
  // What is long is quoted in part.
  ["Conversion Error: Could not convert string 'abc", [text("abc".repeat(1000))], "Conversion Error: ***"],
])("%s", (message, values, expected) => {
  expect(maskedMessage(message, { sql, values })).toBe(expected);
});
