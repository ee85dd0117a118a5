import fc from "fast-check";
import { expect, test } from "vitest";
import { statement, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import type { BoundValue } from "../../../sql/statement.ts";

const bound: readonly (readonly [BoundValue, string, string | null])[] = [
  [{ type: "BIGINT", value: 9223372036854775807n }, "BIGINT", "9223372036854775807"],
  [{ type: "BIGINT", value: -9223372036854775808n }, "BIGINT", "-9223372036854775808"],
  [{ type: "BOOLEAN", value: true }, "BOOLEAN", "true"],
  [{ type: "BOOLEAN", value: false }, "BOOLEAN", "false"],
  [{ type: "DATE", value: "2024-02-29" }, "DATE", "2024-02-29"],
  [{ type: "DATE", value: "0001-01-01" }, "DATE", "0001-01-01"],
  [{ type: "DATE", value: "0099-12-31" }, "DATE", "0099-12-31"],
  [{ type: "DATE", value: "9999-12-31" }, "DATE", "9999-12-31"],
  [{ type: "TIME", value: "12:30:00" }, "TIME", "12:30:00"],
  [{ type: "TIME", value: "23:59:59.5" }, "TIME", "23:59:59.5"],
  [{ type: "TIME", value: "00:00:00.000001" }, "TIME", "00:00:00.000001"],
  [{ type: "DECIMAL", value: "29.99" }, "DECIMAL(4,2)", "29.99"],
  [{ type: "DECIMAL", value: "-0.5" }, "DECIMAL(2,1)", "-0.5"],
  [{ type: "DECIMAL", value: "+007.10" }, "DECIMAL(3,2)", "7.10"],
  [{ type: "DECIMAL", value: "0" }, "DECIMAL(1,0)", "0"],
  [{ type: "DECIMAL", value: "12345678901234567890" }, "DECIMAL(20,0)", "12345678901234567890"],
  [{ type: "DECIMAL", value: `${"9".repeat(36)}.99` }, "DECIMAL(38,2)", `${"9".repeat(36)}.99`],
  [{ type: "DECIMAL", value: `0.${"1".repeat(38)}` }, "DECIMAL(38,38)", `.${"1".repeat(38)}`],
  [{ type: "DECIMAL", value: "9".repeat(39) }, "VARCHAR", "9".repeat(39)],
  [{ type: "DOUBLE", value: "1e300" }, "DOUBLE", "1e+300"],
  [{ type: "DOUBLE", value: "0.1" }, "DOUBLE", "0.1"],
  [{ type: "VARCHAR", value: "" }, "VARCHAR", ""],
  [{ type: "DATE", value: null }, '"NULL"', null],
  [{ type: "VARCHAR", value: null }, '"NULL"', null],
];

test.each(bound.map(([value, type, text]) => ({ label: `${value.type} ${value.value}`, value, type, text })))(
  "$label is bound as $type",
  async ({ value, type, text }) => {
    await using t = await testEngine();
    const { rows } = await t.read({ statements: [statement("SELECT typeof($1), $2::VARCHAR", value, value)] });
    expect(rows).toEqual([[type, text]]);
  },
);

test("texts arrive as they are, NUL and emoji included", async () => {
  await using t = await testEngine();
  const texts = fc.string({ unit: "binary" });
  await fc.assert(
    fc.asyncProperty(fc.array(texts, { minLength: 1, maxLength: 5 }), async (values) => {
      const sql = `SELECT ${values.map((_, index) => `$${index + 1}`).join(", ")}`;
      const bound = values.map((value): BoundValue => ({ type: "VARCHAR", value }));
      const { rows } = await t.read({ statements: [statement(sql, ...bound)], window: { limit: 1, offset: 0 } });
      expect(rows).toEqual([values]);
    }),
    { numRuns: 200, examples: [[["a\0b", "😀", "O'Brien", "\ud83d\ude00\0", "é"]]] },
  );
});

test.each([
  ["sql_literal", "O'Brien", "'O''Brien'"],
  ["sql_literal", "a\\b", "'a\\b'"],
  ["sql_literal_backslash_and_quote", "O'Br\\ien", "'O''Br\\\\ien'"],
  ["sql_literal_backslash", "O'Br\\ien\n\r", "'O\\'Br\\\\ien\\n\\r'"],
  ["sql_literal", null, "NULL"],
])("%s(%j) is %s", async (macro, value, literal) => {
  await using t = await testEngine();
  const { rows } = await t.read({ statements: [statement(`SELECT ${macro}($1)`, { type: "VARCHAR", value })] });
  expect(rows).toEqual([[literal]]);
});

test("sql_literal quotes what goes to another parser", async () => {
  await using t = await testEngine();
  const sql = "SELECT * FROM query('SELECT ' || sql_literal($1) || ' AS v')";
  const value = "x'; DROP TABLE t; --";
  expect((await t.read({ statements: [statement(sql, { type: "VARCHAR", value })] })).rows).toEqual([[value]]);
  expect((await t.read({ statements: "SELECT sql_literal(12), sql_literal(DATE '2024-01-02')" })).rows).toEqual([
    ["'12'", "'2024-01-02'"],
  ]);
});

test("values that are inserted arrive as DuckDB itself would convert them, whatever the column", async () => {
  const columns = [
    "TINYINT",
    "INTEGER",
    "BIGINT",
    "DECIMAL(10,2)",
    "DECIMAL(4,0)",
    "DECIMAL(38,5)",
    "DOUBLE",
    "VARCHAR",
  ];
  await using t = await testEngine(columns.map((type, index) => `CREATE TABLE t${index} (v ${type})`).join(";"));
  const signal = new AbortController().signal;
  const insert = (index: number, value: BoundValue) =>
    t.engine.write({
      connections: [],
      statements: [statement(`INSERT INTO t${index} VALUES ($1)`, value)],
      transaction: true,
      returnsData: false,
      signal,
    });
  const whole = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const edges = fc.constantFrom(0n, 1n, -1n, 127n, 128n, 2n ** 31n - 1n, 2n ** 31n, -(2n ** 31n), -(2n ** 31n) - 1n);
  const decimal = fc
    .tuple(fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }), fc.integer({ min: 0, max: 7 }))
    .map(([digits, scale]) => {
      const text = digits
        .toString()
        .replace("-", "")
        .padStart(scale + 1, "0");
      const at = text.length - scale;
      return `${digits < 0n ? "-" : ""}${text.slice(0, at)}${scale === 0 ? "" : `.${text.slice(at)}`}`;
    });
  const values = fc.oneof(
    fc.oneof(whole, edges).map((value): BoundValue => ({ type: "BIGINT", value })),
    decimal.map((value): BoundValue => ({ type: "DECIMAL", value })),
  );
  await fc.assert(
    fc.asyncProperty(values, fc.nat(columns.length - 1), async (value, index) => {
      // Cast from text, since the minus before the smallest whole number would be applied after the cast.
      const literal = value.type === "BIGINT" ? `'${value.value}'::BIGINT` : String(value.value);
      const expected = await t.read({ statements: `SELECT (${literal})::${columns[index]}::VARCHAR` }).then(
        ({ rows }) => rows[0]?.[0],
        () => "refused",
      );
      await t.sql(`DELETE FROM t${index}`);
      const found = await insert(index, value)
        .then(() => t.read({ statements: `SELECT v::VARCHAR FROM t${index}` }))
        .then(
          ({ rows }) => rows[0]?.[0],
          () => "refused",
        );
      expect(found).toBe(expected);
    }),
    { numRuns: 300 },
  );
});
