import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endpoint, type Files, serviceFrom, type TestService } from "../service.ts";

const PLAIN = "with-pagination: false\n";
const MAIN = "connections: { memory: {} }\nlimits: { max-value-bytes: 1MiB }\n";
/** Two million bytes that no function makes at once. */
const LONG = "(SELECT string_agg(md5(range::VARCHAR), '') FROM range(62500))";

function project(sql: string): Files {
  return {
    "eider.yaml": MAIN,
    ...endpoint(sql, PLAIN),
    "page.yaml": "url-path: /page\ntemplate-source: x.sql\nconnection: memory\n",
  };
}

async function failureOf(service: TestService, path: string): Promise<string> {
  const response = await service.get(path);
  return `${response.status} ${await response.text()}`;
}

/** Values that are too long, with their bytes. */
const VALUES: readonly (readonly [name: string, value: string, bytes: number])[] = [
  ["text", LONG, 2_000_000],
  ["JSON", `to_json(${LONG})`, 2_000_002],
  ["bytes", `${LONG}::BLOB`, 2_000_000],
  ["a list of long texts", `[${LONG}, 'x', ${LONG}]`, 4_000_000],
  ["a struct", `{'a': 1, 'b': {'c': [${LONG}]}}`, 2_000_000],
  ["a map", `MAP {'a': ${LONG}}`, 2_000_000],
  ["a list of numbers", "(SELECT list(range) FROM range(200000))", 1_600_000],
  ["a text of bits", "bitstring('1', 2000000)", 250_001],
];
const REPEATS = [
  "repeat('ab', {{params.n}})",
  "length(repeat('ab', {{params.n}}))",
  "repeat('ab'::BLOB, {{params.n}})",
];

let service: TestService;
beforeAll(async () => {
  const read = (path: string, sql: string, yaml: string): Files => ({
    [`${path}.yaml`]: `url-path: /${path}\ntemplate-source: ${path}.sql\nconnection: memory\n${yaml}`,
    [`${path}.sql`]: sql,
  });
  const declared = "request:\n  - { field-name: n, field-in: query, validators: [{ type: int }] }\n";
  const files = [
    ...VALUES.flatMap(([, value], index) => [
      read(`all-${index}`, `SELECT 1 AS n, ${value} AS v`, PLAIN),
      read(`page-${index}`, `SELECT 1 AS n, ${value} AS v`, ""),
    ]),
    ...REPEATS.map((sql, index) => read(`repeat-${index}`, `SELECT ${sql} AS v`, `${PLAIN}${declared}`)),
    read("always", "SELECT repeat('x', 3000000000) AS v", PLAIN),
    read("one", "SELECT 1 AS n", PLAIN),
  ];
  service = await serviceFrom({
    "eider.yaml": MAIN,
    ...Object.fromEntries(files.flatMap((each) => Object.entries(each))),
  });
});
afterAll(() => service?.[Symbol.asyncDispose]());

test.each(VALUES.map(([name, , bytes], index) => [name, index, bytes] as const))(
  "%s that is too long is refused before it is copied, in every format",
  async (_, index, bytes) => {
    const expected = `500 {"error":"Internal Server Error: column 'v' holds a value of ${bytes} bytes, more than limits.max-value-bytes (1048576); return less of it, or raise the limit"}`;
    // All rows or a page, in turn: of half of the values each format is a page.
    for (const [at, format] of ["json", "csv", "ndjson", "arrow"].entries()) {
      expect(await failureOf(service, `/${(at + index) % 2 === 0 ? "all" : "page"}-${index}?format=${format}`)).toBe(
        expected,
      );
    }
    // Where the value is not returned it does no harm.
    expect(await service.json("/one")).toEqual([{ n: 1 }]);
  },
);

test.each(REPEATS.map((sql, index) => [sql, index] as const))("%s is refused before it is made", async (_, index) => {
  const path = `/repeat-${index}`;
  expect((await service.get(`${path}?n=3`)).status).toBe(200);
  expect((await service.get(`${path}?n=-1`)).status).toBe(200);
  expect(await service.json(path)).toEqual([{ v: null }]);
  for (const n of ["3000000000", "9223372036854775807", "600000"]) {
    expect(await failureOf(service, `${path}?n=${n}&format=parquet`)).toBe(
      '500 {"error":"Internal Server Error: Invalid Input Error: repeat() would make a value of more than limits.max-value-bytes (1048576); make less of it, or raise the limit"}',
    );
  }
});

test("repeat() is otherwise what it was: its name, its types, its lists", async () => {
  await using service = await serviceFrom(
    project("SELECT repeat('ab', 2), repeat([1, 2], 2) AS l, repeat('a'::BLOB, 2) AS b, repeat(NULL, 2) AS n"),
  );
  expect(await service.json("/x")).toEqual([{ "repeat('ab', 2)": "abab", l: [1, 2, 1, 2], b: "YWE=", n: null }]);
});

test("a template that always makes too much loads, and says so when it is called", async () => {
  expect(await failureOf(service, "/always")).toContain("limits.max-value-bytes");
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
