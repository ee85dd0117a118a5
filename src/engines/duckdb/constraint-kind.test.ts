import { expect, test } from "vitest";
import { constraintOf } from "./constraint-kind.ts";

const POSTGRES = "Invalid Error: Failed to copy data: ERROR:  ";
const MYSQL = 'Invalid Error: Failed to execute query "INSERT": ';

test.each([
  ['Constraint Error: Duplicate key "id: 1" violates primary key constraint.', "unique"],
  ['Constraint Error: Duplicate key "name: a" violates unique constraint.', "unique"],
  ['Constraint Error: PRIMARY KEY or UNIQUE constraint violation: duplicate key "1"', "unique"],
  ["Constraint Error: Data contains duplicates on indexed column(s)", "unique"],
  ["Constraint Error: NOT NULL constraint failed: t.a", "other"],
  ['Constraint Error: CHECK constraint failed on table t with expression CHECK((a <> "Duplicate key "))', "other"],
  ['Constraint Error: Violates foreign key constraint because key "id: 5" does not exist', "other"],
  [
    `${POSTGRES}duplicate key value violates unique constraint "t_pkey"\nDETAIL:  Key (id)=(1) already exists.`,
    "unique",
  ],
  [`${POSTGRES}conflicting key value violates exclusion constraint "x"\nDETAIL:  Key (a)=(1) conflicts.`, "unique"],
  [`${POSTGRES}new row for relation "t" violates check constraint "c"\nDETAIL:  Failing row contains (1).`, "other"],
  [`${POSTGRES}null value in column "a" of relation "t" violates not-null constraint`, "other"],
  [`${POSTGRES}insert or update on table "c" violates foreign key constraint "fk"`, "other"],
  [`${POSTGRES}update or delete on table "p" violates foreign key constraint "fk" on table "c"`, "other"],
  ["Invalid Error: UNIQUE constraint failed: t.id", "unique"],
  ["Invalid Error: CHECK constraint failed: note <> 'x'", "other"],
  ["Invalid Error: FOREIGN KEY constraint failed", "other"],
  [`${MYSQL}Duplicate entry '1' for key 't.PRIMARY'`, "unique"],
  [`${MYSQL}Check constraint 'c' is violated.`, "other"],
  [`${MYSQL}CONSTRAINT \`c\` failed for \`db\`.\`t\``, "other"],
  [`${MYSQL}Column 'a' cannot be null`, "other"],
  [
    `${MYSQL}Cannot add or update a child row: a foreign key constraint fails (\`d\`.\`c\`, CONSTRAINT \`fk\` FOREIGN KEY (\`a\`) REFERENCES \`p\` (\`id\`))`,
    "other",
  ],
  [
    'Invalid Error: Failed to execute query "COMMIT": ERROR:  insert or update on table "c" violates foreign key constraint "fk"',
    "other",
  ],
  // Words of a row, of a template or of SQL are no constraint, and no other kind of constraint.
  [
    `${POSTGRES}new row for relation "t" violates check constraint "c"\nDETAIL:  Failing row contains (1, ": ERROR:  duplicate key value violates unique constraint "a"`,
    "other",
  ],
  [
    `${MYSQL.replace("INSERT", "INSERT INTO t VALUES ('Duplicate entry ''1'' for key ''a''')")}Check constraint 'c' is violated.`,
    "other",
  ],
  [`${MYSQL}Duplicate entry 'Column 'a' cannot be null' for key 'a'`, "unique"],
  ["Invalid Input Error: Constraint Error: Duplicate key", undefined],
  ["Conversion Error: Could not convert string 'Constraint Error: Duplicate key ' to INT32", undefined],
  [`${POSTGRES}division by zero\nCONTEXT:  UNIQUE constraint failed: t.id`, undefined],
  [
    `${POSTGRES}invalid input syntax for type integer: "ERROR:  duplicate key value violates unique constraint "a"`,
    undefined,
  ],
  [
    `${MYSQL.replace("INSERT", "INSERT INTO t VALUES (' CHECK constraint failed: x')")}Data too long for column 'a' at row 1`,
    undefined,
  ],
  ["IO Error: Could not write file", undefined],
])("%j: %s", (message, expected) => {
  expect(constraintOf(message)).toBe(expected);
});
