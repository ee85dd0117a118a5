import { describe, expect, test } from "vitest";
import { serviceFrom } from "../service.ts";

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";

interface Case {
  readonly type: string;
  /** Values of the cursor: those of the first fill, and what each write adds. */
  readonly first: readonly string[];
  readonly added: readonly string[];
  readonly cursorType?: string;
}

/** Appends rows with these cursors, one refresh each. Returns the cached values in their order, and the last mark. */
async function appended({ type, first, added, cursorType }: Case): Promise<{ values: string[]; mark: string | null }> {
  const typed = cursorType === undefined ? "" : `, type: ${cursorType}`;
  await using service = await serviceFrom({
    "eider.yaml": `connections: { db: { init: "CREATE TABLE t (id INTEGER, c ${type}); INSERT INTO t VALUES ${first.map((value) => `(0, '${value}')`).join(", ")}" } }\n`,
    "r.yaml": `url-path: /r\ntemplate-source: r.sql\nconnection: [db]\nwith-pagination: false\ncache: { table: r, template-file: fill.sql, cursor: { column: c${typed} } }\n`,
    "r.sql": `SELECT c::VARCHAR AS c, mark FROM ${TABLE}`,
    "fill.sql":
      "SELECT c, NULL::VARCHAR AS mark FROM t {{#cache.previousSnapshotTimestamp}}UNION ALL SELECT DISTINCT NULL, '{{cache.previousSnapshotTimestamp}}' FROM t{{/cache.previousSnapshotTimestamp}}",
    "w.yaml":
      "url-path: /w\nmethod: POST\ntemplate-source: w.sql\nconnection: [db]\nrequest: [{ field-name: c, field-in: query }]\ncache: { table: r, refresh-on-write: true }\n",
    "w.sql": "INSERT INTO t VALUES (1, '{{{params.c}}}')",
  });
  const read = async () => (await service.json("/r")) as { c: string | null; mark: string | null }[];
  await read();
  for (const value of added) {
    expect((await service.request(`/w?c=${encodeURIComponent(value)}`, { method: "POST" })).status).toBe(200);
  }
  const rows = await read();
  return {
    values: rows.flatMap(({ c }) => c ?? []),
    mark: rows.findLast(({ mark }) => mark !== null)?.mark ?? null,
  };
}

describe("cursor.type is what values are compared as", () => {
  test.each([
    ["integers in a text column", "VARCHAR", "integer", ["9"], ["10", "11", "100"], "11"],
    ["the same, by another name", "VARCHAR", "BIGINT", ["9"], ["10", "11", "100"], "11"],
    ["numbers in a text column", "VARCHAR", "double", ["9.5"], ["10.25", "1e2"], "10.25"],
    ["dates in a text column", "VARCHAR", "date", ["2024-9-30"], ["2024-10-01", "2024-10-02"], "2024-10-01"],
    [
      "moments in a text column",
      "VARCHAR",
      "timestamp",
      ["2024-01-01T00:00:00Z"],
      ["2024-01-01T00:00:01Z"],
      "2024-01-01T00:00:00Z",
    ],
    [
      "a date for moments",
      "TIMESTAMP",
      "date",
      ["2024-01-01 00:00:00"],
      ["2024-01-01 12:00:00"],
      "2024-01-01 00:00:00",
    ],
    ["text for integers", "INTEGER", "varchar", ["10"], ["9", "95"], "9"],
  ] as const)("%s", async (_, type, cursorType, first, added, mark) => {
    const found = await appended({ type, cursorType, first, added });
    expect(found).toEqual({ values: [...first, ...added], mark });
  });

  test("a text that is no integer is neither lost nor doubled", async () => {
    const { values } = await appended({
      type: "VARCHAR",
      cursorType: "integer",
      first: ["9", "n/a"],
      added: ["10", "?", "11"],
    });
    expect(values).toEqual(["9", "n/a", "10", "?", "11"]);
  });
});

describe("values that nothing follows do not end appending", () => {
  test.each([
    ["DATE", undefined, ["2024-01-01", "infinity"], ["2024-01-02", "infinity", "-infinity", "2024-01-03"]],
    ["TIMESTAMP", "timestamp", ["2024-01-01 00:00:00", "infinity"], ["2024-01-02 00:00:00", "2024-01-03 00:00:00"]],
    ["TIMESTAMP_NS", undefined, ["2024-01-01 00:00:00"], ["2024-01-02 00:00:00.000000001"]],
    ["TIMESTAMP_S", undefined, ["2024-01-01 00:00:00", "infinity"], ["2024-01-02 00:00:00"]],
    ["TIMESTAMP_MS", undefined, ["2024-01-01 00:00:00", "infinity"], ["2024-01-02 00:00:00"]],
    ["DOUBLE", undefined, ["1.0", "nan", "inf"], ["2.0", "nan", "inf", "3.0"]],
    ["FLOAT", "double", ["1.0", "nan"], ["2.0", "inf", "3.0"]],
    ["VARCHAR", "timestamp", ["2024-01-01", "infinity"], ["2024-01-02", "2024-01-03"]],
    ["VARCHAR", "double", ["1", "Infinity", "NaN"], ["2", "3"]],
  ] as const)("%s compared as %s", async (type, cursorType, first, added) => {
    const { values, mark } = await appended({ type, first, added, ...(cursorType && { cursorType }) });
    expect(values).toEqual([...first, ...added]);
    expect(mark).not.toMatch(/inf|nan/i);
  });

  test("TIMESTAMPTZ", async () => {
    const first = ["2024-01-01 00:00:00+00", "infinity"];
    const { values } = await appended({ type: "TIMESTAMPTZ", first, added: ["2024-01-02 00:00:00+00", "infinity"] });
    expect(values).toHaveLength(4);
  });
});

test("merging: the largest cursor, as it is compared, wins; and infinity does not end it", async () => {
  await using service = await serviceFrom({
    "eider.yaml":
      "connections: { db: { init: \"CREATE TABLE t (id INTEGER, v VARCHAR, c VARCHAR); INSERT INTO t VALUES (1, 'old', '9'), (1, 'new', '10'), (2, 'x', 'inf')\" } }\n",
    "r.yaml":
      "url-path: /r\ntemplate-source: r.sql\nconnection: [db]\nwith-pagination: false\ncache: { table: r, template-file: fill.sql, cursor: { column: c, type: double }, primary-key: [id] }\n",
    "r.sql": `SELECT id, v FROM ${TABLE} ORDER BY id`,
    "fill.sql":
      "SELECT id, v, c FROM t {{#cache.previousSnapshotTimestamp}}WHERE c::DOUBLE > '{{cache.previousSnapshotTimestamp}}'::DOUBLE{{/cache.previousSnapshotTimestamp}}",
    "w.yaml":
      "url-path: /w\nmethod: POST\ntemplate-source: w.sql\nconnection: [db]\ncache: { table: r, refresh-on-write: true }\n",
    "w.sql": "INSERT INTO t VALUES (1, 'newest', '11')",
  });
  expect(await service.json("/r")).toEqual([
    { id: 1, v: "new" },
    { id: 2, v: "x" },
  ]);
  expect((await service.request("/w", { method: "POST" })).status).toBe(200);
  expect(await service.json("/r")).toEqual([
    { id: 1, v: "newest" },
    { id: 2, v: "x" },
  ]);
});
