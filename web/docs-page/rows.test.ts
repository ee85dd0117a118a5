import fc from "fast-check";
import { expect, test } from "vitest";

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isNumber: boolean;
}

interface Rows {
  readonly MAX_ROWS: number;
  readRows(
    text: string,
    known?: readonly Column[],
    singleRowIn?: "body" | "data",
  ):
    | {
        readonly columns: readonly Column[];
        readonly rows: readonly (readonly string[])[];
        readonly next: string;
        readonly total: string | undefined;
        readonly hiddenRows: number;
        readonly isPaged: boolean;
      }
    | undefined;
  sortRows(
    rows: readonly (readonly string[])[],
    column: number,
    direction: "ascending" | "descending",
  ): { readonly row: readonly string[]; readonly index: number }[];
  compareNumbers(a: string, b: string): number;
}

// The page is JavaScript without types; the name is made so that the compiler does not look for them.
const { readRows, sortRows, compareNumbers, MAX_ROWS }: Rows = await import(new URL("./rows.js", import.meta.url).href);

const BIGINT: Column = { name: "id", type: "BIGINT", isNumber: true };

test("an envelope: rows as text, what comes next, how many there are", () => {
  expect(
    readRows(
      '{"data":[{"id":9007199254740993,"x":null},{"id":1,"x":{"a":[1]}}],"next":"/a?x=\\u0026","total_count":250}',
      [BIGINT],
    ),
  ).toEqual({
    columns: [BIGINT, { name: "x", type: "object", isNumber: false }],
    rows: [
      ["9007199254740993", "null"],
      ["1", '{"a":[1]}'],
    ],
    next: "/a?x=&",
    total: "250",
    hiddenRows: 0,
    isPaged: true,
  });
});

test("columns come in the order of the rows; without rows in that of the document", () => {
  const known = [BIGINT, { name: "7", type: "DATE", isNumber: false }];
  expect(readRows('[{"7":"2024-01-01","id":1}]', known)?.columns).toEqual([known[1], known[0]]);
  expect(readRows("[]", known)?.columns).toEqual(known);
});

test.each([
  ["[]", [], []],
  ['[{"a":1},{"b":"x"}]', ["a", "b"], [["1"], [undefined, '"x"']]],
  ['[{"2":1,"1":2}]', ["2", "1"], [["1", "2"]]],
  ["[1.50,null]", ["value"], [["1.50"], ["null"]]],
])("an array: %s", (text, names, rows) => {
  const found = readRows(text);
  expect(found?.columns.map(({ name }) => name)).toEqual(names);
  expect(found?.rows.map((row) => [...row])).toEqual(rows);
  expect(found?.isPaged).toBe(false);
});

test.each(['{"rows_affected":1}', '{"error":"no"}', "1", '"text"', '{"data":1}'])("no rows: %s", (text) => {
  expect(readRows(text)).toBe(undefined);
});

test("a column is a number when all of its values are", () => {
  const found = readRows('[{"a":1,"b":1,"c":null},{"a":null,"b":"x","c":null}]');
  expect(found?.columns).toEqual([
    { name: "a", type: "number", isNumber: true },
    { name: "b", type: "any", isNumber: false },
    { name: "c", type: "null", isNumber: false },
  ]);
});

test("too many rows are left out, and counted", () => {
  const found = readRows(`[${"1,".repeat(MAX_ROWS + 1)}1]`);
  expect([found?.rows.length, found?.hiddenRows]).toEqual([MAX_ROWS, 2]);
});

test("numbers compare by value, however large or close", () => {
  const decimal = fc.tuple(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.nat(20));
  const textOf = (digits: bigint, scale: number): string => {
    const sign = digits < 0n ? "-" : "";
    const all = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, "0");
    return scale === 0 ? sign + all : `${sign}${all.slice(0, -scale)}.${all.slice(-scale)}`;
  };
  fc.assert(
    fc.property(decimal, decimal, ([a, scaleA], [b, scaleB]) => {
      const [left, right] = [a * 10n ** BigInt(20 - scaleA), b * 10n ** BigInt(20 - scaleB)];
      const expected = left < right ? -1 : left > right ? 1 : 0;
      expect(Math.sign(compareNumbers(textOf(a, scaleA), textOf(b, scaleB)))).toBe(expected);
    }),
  );
});

test.each([
  ["9007199254740993", "9007199254740992", 1],
  ["29.990", "29.99", 0],
  ["1e2", "100", 0],
  ["1e400", "2e400", -1],
  ["-1e400", "1e400", -1],
  ["0", "-0.0", 0],
])("%s against %s: %i", (a, b, expected) => expect(Math.sign(compareNumbers(a, b))).toBe(expected));

test("sorting: exact, stable, nothing last both ways, rows keep their number", () => {
  const rows = [["9007199254740993"], ["null"], ["9007199254740992"], [], ["5"], ["5.0"]].map((row) => row);
  const order = (direction: "ascending" | "descending") => sortRows(rows, 0, direction).map(({ index }) => index);
  expect(order("ascending")).toEqual([4, 5, 2, 0, 1, 3]);
  expect(order("descending")).toEqual([0, 2, 4, 5, 1, 3]);
});

test("text sorts as people sort it, dates by time", () => {
  const order = (...cells: readonly string[]) =>
    sortRows(
      cells.map((cell) => [cell]),
      0,
      "ascending",
    ).map(({ row }) => row[0]);
  expect(order('"Zoo"', '"apple"', '"Äpfel"')).toEqual(
    ['"Äpfel"', '"apple"', '"Zoo"'].sort(new Intl.Collator().compare),
  );
  expect(order('"2024-02-01"', '"2023-12-31"', '"2024-01-31T10:00:00"')).toEqual([
    '"2023-12-31"',
    '"2024-01-31T10:00:00"',
    '"2024-02-01"',
  ]);
  expect(order("true", "false")).toEqual(["false", "true"]);
});

test.each([
  ['{"id":1,"data":[1]}', "body", [["1", "[1]"]]],
  ['{"rows_affected":1,"data":{"id":1}}', "data", [["1"]]],
] as const)("one object: %s", (text, one, rows) => {
  expect(readRows(text, [BIGINT], one)).toMatchObject({ rows, isPaged: false, total: undefined, hiddenRows: 0 });
});

test("one object that is missing", () => {
  expect(readRows('{"rows_affected":1}', [BIGINT], "data")).toBeUndefined();
});
