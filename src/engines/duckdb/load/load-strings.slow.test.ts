import duckdb from "@duckdb/node-bindings";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { isValid, type Vector } from "../../../result/chunk.ts";
import { loadChunk } from "./load-vectors.ts";
import { resultColumns } from "./logical-type.ts";

let connection: duckdb.Connection;
beforeAll(async () => {
  connection = await duckdb.connect(await duckdb.open(":memory:"));
  await duckdb.query(
    connection,
    `CREATE TABLE t AS SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE repeat(chr((65 + i % 26)::INTEGER), (i * 37 % 9000)::INTEGER) || i END AS s
     FROM range(60000) r(i)`,
  );
});

async function strings(sql: string): Promise<(string | null)[]> {
  const result = await duckdb.query(connection, sql);
  const columns = resultColumns(result);
  const all: (string | null)[] = [];
  for (;;) {
    const native = await duckdb.fetch_chunk(result);
    if (native === null || duckdb.data_chunk_get_size(native) === 0) return all;
    const { rows, vectors } = loadChunk(native, columns);
    const [vector] = vectors;
    if (vector?.layout !== "bytes") throw new Error("not a vector of strings");
    if (vector.packed === true) expectPacked(vector, rows);
    for (let row = 0; row < rows; row++) {
      const start = vector.starts[row] ?? 0;
      const end = start + (vector.lengths[row] ?? 0);
      all.push(isValid(vector.validity, row) ? Buffer.from(vector.bytes.subarray(start, end)).toString() : null);
    }
  }
}

function expectPacked({ starts, lengths, validity }: Extract<Vector, { layout: "bytes" }>, rows: number): void {
  for (let row = 0; row < rows; row++) {
    if (!isValid(validity, row)) expect(lengths[row]).toBe(0);
    if (row > 0) expect(starts[row]).toBe((starts[row - 1] ?? 0) + (lengths[row - 1] ?? 0));
  }
}

function expected(i: number): string | null {
  return i % 3 === 0 ? null : String.fromCharCode(65 + (i % 26)).repeat((i * 37) % 9000) + i;
}

test("strings with gaps wider than a page between them, in order", async () => {
  const rows = Array.from({ length: 6000 }, (_, i) => expected(i));
  expect(await strings("SELECT s FROM t WHERE i < 6000 ORDER BY i")).toEqual(rows);
});

test("strings from all over the memory, in an order of their own", async () => {
  const order = Array.from({ length: 3000 }, (_, n) => (n * 7919) % 60000);
  await duckdb.query(
    connection,
    "CREATE OR REPLACE TABLE picks AS SELECT n, n * 7919 % 60000 AS i FROM range(3000) r(n)",
  );
  expect(await strings("SELECT s FROM picks JOIN t USING (i) ORDER BY n")).toEqual(order.map(expected));
});

test("short strings alone, long strings alone, the empty string", async () => {
  expect(await strings("SELECT 'a' || i FROM range(3) r(i)")).toEqual(["a0", "a1", "a2"]);
  expect(await strings("SELECT 'longer than a slot ' || i FROM range(2) r(i)")).toEqual([
    "longer than a slot 0",
    "longer than a slot 1",
  ]);
  expect(await strings("SELECT '' FROM range(2)")).toEqual(["", ""]);
});

test("any mixture of short, long, empty and missing strings", async () => {
  const text = fc
    .integer({ min: 0, max: 40 })
    .map((length) => "abcdefghijklmnopqrstuvwxyz0123456789ABCDE".slice(0, length));
  const short = text.map((value) => value.slice(0, 12));
  const long = text.map((value) => `a longer text: ${value}`);
  const kinds = fc
    .constantFrom(text, short, long)
    .chain((kind) => fc.array(fc.option(kind), { minLength: 1, maxLength: 60 }));
  // A few of one kind, then of another.
  const mixtures = fc.array(kinds, { minLength: 1, maxLength: 4 }).map((parts) => parts.flat());
  await fc.assert(
    fc.asyncProperty(mixtures, async (texts) => {
      const rows = texts.map((value, row) => `(${row}, ${value === null ? "NULL" : `'${value}'`})`).join(",");
      const from = `FROM (VALUES ${rows}) v(i, s)`;
      expect(await strings(`SELECT s::VARCHAR ${from} ORDER BY i`)).toEqual(texts);
      expect(await strings(`SELECT s::VARCHAR ${from} ORDER BY -i`)).toEqual(texts.toReversed());
    }),
    { numRuns: 100 },
  );
});
