import { beforeAll, describe, expect } from "vitest";
import { READ_PART, SAME_AS_JSON, sized } from "../arrow-values.ts";
import { python, testWithPython } from "../python.ts";
import { type ArrowDatabase, type ArrowOptions, openArrowDatabase, SHAPES } from "./arrow-rows.ts";

let database: ArrowDatabase;
beforeAll(async () => {
  database = await openArrowDatabase();
});

const withPyarrow = testWithPython("pyarrow");

/** Reads streams and compares every value with the JSON of the same rows. Prints how many rows there were, or what is wrong. */
const COMPARE = `${SAME_AS_JSON}${READ_PART}
results = []
while sys.stdin.buffer.peek(1):
    rows, stream = json.loads(part(), parse_int=str, parse_float=str), part()
    try:
        results.append(compare(rows, pa.ipc.open_stream(stream).read_all()))
    except Exception as error:
        results.append(repr(error))
print(json.dumps(results))
`;

const CASES = Object.entries(SHAPES).flatMap(([shape, sql]) => {
  const atSize = (rows: number, options: ArrowOptions = {}) => ({
    shape,
    rows,
    options,
    sql: sql.replaceAll("$ROWS", String(rows)),
  });
  return [
    // No row, one, and more than a chunk.
    ...[atSize(0), atSize(1), atSize(2049)],
    // In slices, and packed with either codec.
    ...[atSize(500, { slice: 13 }), atSize(500, { slice: 100, codec: "lz4" }), atSize(500, { codec: "zstd" })],
  ];
});

/** All of them in one process: each start of it loads pyarrow. */
async function compareAll(): Promise<readonly { readonly shape: string; readonly read: number | string }[]> {
  const parts: Buffer[] = [];
  for (const { sql, options } of CASES)
    parts.push(sized(await database.json(sql)), sized(await database.arrow(sql, options)));
  const results: (number | string)[] = JSON.parse(python(COMPARE, Buffer.concat(parts)));
  return CASES.map(({ shape }, index) => ({ shape, read: results[index] ?? "nothing" }));
}

let compared: ReturnType<typeof compareAll> | undefined;

describe.each(Object.keys(SHAPES))("pyarrow reads %s", (shape) => {
  withPyarrow("no row, one, more than a chunk, slices, and packed with either codec", async () => {
    compared ??= compareAll();
    const read = (await compared).filter((each) => each.shape === shape).map((each) => each.read);
    // Some of them leave rows out.
    const some = expect.toSatisfy((count: unknown) => typeof count === "number" && count > 0);
    expect(read).toEqual([0, expect.toBeOneOf([0, 1]), some, some, some, some]);
  });
});

withPyarrow("pyarrow reads 20,000 rows in many chunks: not packed, and with either codec", async () => {
  const sql = `SELECT i AS id, i::DECIMAL(18,2) / 4 AS amount, 'customer name number ' || i AS name, i % 3 = 0 AS active,
    CASE WHEN i % 4 > 0 THEN 'tag' || (i % 100) END AS tag FROM range(20000) r(i)`;
  const check = `
import sys, decimal, pyarrow as pa
n = range(20000)
while sys.stdin.buffer.peek(1):
    size = int.from_bytes(sys.stdin.buffer.read(4), "little")
    table = pa.ipc.open_stream(sys.stdin.buffer.read(size)).read_all()
    table.validate(full=True)
    assert table.column("id").to_pylist() == list(n)
    assert table.column("amount").to_pylist() == [decimal.Decimal(i) / 4 for i in n]
    assert table.column("name").to_pylist() == [f"customer name number {i}" for i in n]
    assert table.column("active").to_pylist() == [i % 3 == 0 for i in n]
    assert table.column("tag").to_pylist() == [f"tag{i % 100}" if i % 4 else None for i in n]
    print(table.column("tag").null_count)
`;
  const streams = [await database.arrow(sql)];
  for (const codec of ["lz4", "zstd"]) streams.push(await database.arrow(sql, { codec }));
  expect(python(check, Buffer.concat(streams.map(sized)))).toBe("5000\n".repeat(3));
});

describe("pyarrow reads test_all_types()", () => {
  /** Prints the type and the three values of every column, temporal ones as the numbers that they are made of. */
  const print = `
import sys, json, pyarrow as pa
from pyarrow import types as T
table = pa.ipc.open_stream(sys.stdin.buffer.read()).read_all()
def plain(s):
    if isinstance(s, pa.UnionScalar): return None if s.value is None else plain(s.value)
    if not s.is_valid: return None
    t = s.type
    if T.is_interval(t): return list(s.as_py())
    if T.is_temporal(t): return str(s.value)
    if T.is_boolean(t): return s.as_py()
    if T.is_integer(t): return str(s.as_py())
    if T.is_decimal(t): return format(s.as_py(), "f")
    if T.is_floating(t): return repr(s.as_py())
    if T.is_binary(t): return s.as_py().hex()
    if T.is_string(t): return s.as_py().replace(chr(0), "<NUL>")
    if T.is_struct(t): return {f.name: plain(s[f.name]) for f in t}
    if T.is_map(t): return [[plain(e["key"]), plain(e["value"])] for e in s.values]
    if T.is_list(t) or T.is_fixed_size_list(t): return [plain(v) for v in s.values]
    return s.as_py()
invalid = []
for name in table.schema.names:
    try: table.column(name).validate(full=True)
    except pa.ArrowInvalid: invalid.append(name)
columns = {f.name: [str(f.type), *(plain(v) for v in table.column(f.name))] for f in table.schema}
print(json.dumps({"columns": columns, "invalid": invalid, "metadata": {f.name: {k.decode(): v.decode() for k, v in f.metadata.items()} for f in table.schema if f.metadata}}, ensure_ascii=False))
`;

  withPyarrow("its types, smallest and largest values", async () => {
    const read: unknown = JSON.parse(python(print, await database.arrow("SELECT * FROM test_all_types()")));
    expect(read).toMatchSnapshot();
  });
});
