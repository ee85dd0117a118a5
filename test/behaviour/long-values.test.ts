import { tableFromIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { endpoint, type Files, serviceFrom, type TestService } from "../service.ts";

const PLAIN = "with-pagination: false\n";
const MAIN = "connections: { memory: {} }\nlimits: { max-value-bytes: 1MiB }\n";
/** Two million bytes that no function makes at once. */
const LONG = "(SELECT string_agg(md5(range::VARCHAR), '') FROM range(62500))";

function project(sql: string, main = MAIN): Files {
  return {
    "eider.yaml": main,
    ...endpoint(sql, PLAIN),
    "page.yaml": "url-path: /page\ntemplate-source: x.sql\nconnection: memory\n",
    "one.yaml": `url-path: /one\ntemplate-source: one.sql\nconnection: memory\n${PLAIN}`,
    "one.sql": "SELECT 1 AS n",
  };
}

async function failureOf(service: TestService, path: string): Promise<string> {
  const response = await service.get(path);
  return `${response.status} ${await response.text()}`;
}

test.each([
  ["text", LONG, 2_000_000],
  ["JSON", `to_json(${LONG})`, 2_000_002],
  ["bytes", `${LONG}::BLOB`, 2_000_000],
  ["a list of long texts", `[${LONG}, 'x', ${LONG}]`, 4_000_000],
  ["a struct", `{'a': 1, 'b': {'c': [${LONG}]}}`, 2_000_000],
  ["a map", `MAP {'a': ${LONG}}`, 2_000_000],
  ["a list of numbers", "(SELECT list(range) FROM range(200000))", 1_600_000],
  ["a text of bits", "bitstring('1', 2000000)", 250_001],
])("%s that is too long is refused before it is copied, in every format", async (_, value, bytes) => {
  await using service = await serviceFrom(project(`SELECT 1 AS n, ${value} AS v`));
  const expected = `500 {"error":"Internal Server Error: column 'v' holds a value of ${bytes} bytes, more than limits.max-value-bytes (1048576); return less of it, or raise the limit"}`;
  for (const format of ["json", "csv", "ndjson", "arrow"]) {
    expect(await failureOf(service, `/x?format=${format}`)).toBe(expected);
    expect(await failureOf(service, `/page?format=${format}`)).toBe(expected);
  }
  // Where the value is not returned it does no harm.
  expect(await service.json("/one")).toEqual([{ n: 1 }]);
});

test.each(["repeat('ab', {{params.n}})", "length(repeat('ab', {{params.n}}))", "repeat('ab'::BLOB, {{params.n}})"])(
  "%s is refused before it is made",
  async (sql) => {
    const declared = "request:\n  - { field-name: n, field-in: query, validators: [{ type: int }] }\n";
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...endpoint(`SELECT ${sql} AS v`, `${PLAIN}${declared}`),
    });
    expect((await service.get("/x?n=3")).status).toBe(200);
    expect((await service.get("/x?n=-1")).status).toBe(200);
    expect(await service.json("/x")).toEqual([{ v: null }]);
    for (const n of ["3000000000", "9223372036854775807", "600000"]) {
      expect(await failureOf(service, `/x?n=${n}&format=parquet`)).toBe(
        '500 {"error":"Internal Server Error: Invalid Input Error: repeat() would make a value of more than limits.max-value-bytes (1048576); make less of it, or raise the limit"}',
      );
    }
  },
);

test("repeat() is otherwise what it was: its name, its types, its lists", async () => {
  await using service = await serviceFrom(
    project("SELECT repeat('ab', 2), repeat([1, 2], 2) AS l, repeat('a'::BLOB, 2) AS b, repeat(NULL, 2) AS n"),
  );
  expect(await service.json("/x")).toEqual([{ "repeat('ab', 2)": "abab", l: [1, 2, 1, 2], b: "YWE=", n: null }]);
});

test("a template that always makes too much loads, and says so when it is called", async () => {
  await using service = await serviceFrom(project("SELECT repeat('x', 3000000000) AS v"));
  expect(await failureOf(service, "/x")).toContain("limits.max-value-bytes");
});

test("rows that are long together come in pieces, whole and in order", async () => {
  // 12 MB of texts in two chunks of rows, some of them in lists, some NULL.
  const rows = 3000;
  const text = (n: number): string => `${n}-${"x".repeat(n % 7 === 0 ? 20 : 2_000)}`;
  const sql = `SELECT range AS n,
    CASE WHEN range % 5 = 0 THEN NULL ELSE range || '-' || repeat('x', CASE WHEN range % 7 = 0 THEN 20 ELSE 2000 END) END AS t,
    [range, NULL] AS l, {'a': range || '-' || repeat('x', CASE WHEN range % 7 = 0 THEN 20 ELSE 2000 END)} AS s
    FROM range(${rows})`;
  await using service = await serviceFrom(project(sql));
  const expected = Array.from({ length: rows }, (_, n) => ({
    n,
    t: n % 5 === 0 ? null : text(n),
    l: [n, null],
    s: { a: text(n) },
  }));
  expect(await service.json("/x")).toEqual(expected);
  expect(await service.json("/x?limit=2500&offset=20")).toEqual(expected.slice(20, 2520));
  const lines = (await (await service.get("/x?format=ndjson")).text()).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(expected);
  const page = (await service.json("/page?limit=2100&offset=7")) as {
    readonly data: unknown;
    readonly total_count: number;
  };
  expect([page.data, page.total_count]).toEqual([expected.slice(7, 2107), rows]);
  const table = tableFromIPC(new Uint8Array(await (await service.get("/x?format=arrow")).arrayBuffer()));
  expect(Array.from(table.getChild("t") ?? [])).toEqual(expected.map(({ t }) => t));
});
