import { expect, test } from "vitest";
import type { ColumnType } from "../result/column.ts";
import type { Table } from "./table.ts";
import { listEndpoint, rowEndpoint, summaryEndpoint, tableEndpoints } from "./table-endpoints.ts";

const text: ColumnType = { kind: "text" };
const int: ColumnType = { kind: "integer", bits: 64, signed: true };

const VARIABLE = "$\u007bHOME}";

function tableOf(columns: Readonly<Record<string, ColumnType>>, other: Partial<Table> = {}): Table {
  const list = Object.entries(columns).map(([name, type]) => ({ name, type }));
  const table = { title: "trips", connection: "trips", path: ["trips"], key: undefined, isSlowToCount: false };
  return { ...table, columns: list, ...other };
}

test("a list: filters by type, sort order with the key last", () => {
  const key = { column: { name: "id", type: int }, isVerified: true };
  const { path, yaml, sql } = listEndpoint(
    tableOf({ id: int, "na me": text, tags: { kind: "list", item: text } }, { key }),
    "trips",
  );
  expect(path).toBe("/trips");
  expect(sql).toBe(`SELECT *
FROM "trips"
WHERE true
{{#params.id}}
  AND "id" = {{params.id}}
{{/params.id}}
{{#params.id_min}}
  AND "id" >= {{params.id_min}}
{{/params.id_min}}
{{#params.id_max}}
  AND "id" <= {{params.id_max}}
{{/params.id_max}}
{{#params.na_me}}
  AND "na me" = '{{params.na_me}}'
{{/params.na_me}}
{{#params.na_me_contains}}
  AND contains(lower("na me"), lower('{{params.na_me_contains}}'))
{{/params.na_me_contains}}
{{#params.sort}}
ORDER BY "{{params.sort}}" {{params.order}}, "id"
{{/params.sort}}
`);
  expect(yaml).toContain("        allowedValues:\n          - id\n          - na me\n");
});

test("without a key, all columns break ties", () => {
  expect(listEndpoint(tableOf({ a: text, b: int }), "x").sql).toContain('"{{params.sort}}" {{params.order}}, "a", "b"');
});

test("a table that is slow to count has no total", () => {
  const { yaml } = listEndpoint(tableOf({ a: int }, { isSlowToCount: true }), "x");
  expect(yaml).toContain("with-pagination: false\n");
  expect(yaml).toContain("  - field-name: limit\n");
});

test("filters keep clear of each other and of the parameters of the list", () => {
  const { yaml } = listEndpoint(tableOf({ a: int, a_min: int, "a min": int, limit: int, sort: int }), "x");
  const names = [...yaml.matchAll(/field-name: (\S+)/g)].map(([, name]) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(
    expect.arrayContaining(["a", "a_min", "a_min_2", "a_min_3", "limit_2", "sort_2", "sort", "order"]),
  );
  expect(names).not.toContain("limit");
});

test("a wide table has one filter per column", () => {
  const wide = Object.fromEntries(Array.from({ length: 31 }, (_, index) => [`c${index}`, int]));
  const { yaml } = listEndpoint(tableOf(wide), "x");
  const names = [...yaml.matchAll(/field-name: (\S+)/g)].map(([, name]) => name);
  expect(names).toEqual([...Object.keys(wide), "sort", "order"]);
});

test.each([
  ["{{x}}", "{{=<% %>=}}\n", "<%params._x_%>"],
  ["{{x}} <%", "{{=[[ ]]=}}\n", "[[params._x_]]"],
  ["plain", "SELECT", "{{params.plain}}"],
])("the tags of a table with the column %j", (name, start, tag) => {
  const { sql } = listEndpoint(tableOf({ [name]: int }), "x");
  expect(sql.startsWith(start)).toBe(true);
  expect(sql).toContain(`"${name}" = ${tag}`);
});

test("names that YAML would read as a variable are not written into it", () => {
  const { yaml, sql } = listEndpoint(tableOf({ [VARIABLE]: int }), "x");
  expect(yaml).not.toContain(VARIABLE);
  expect(sql).toContain(`"${VARIABLE}" = {{params._HOME_}}`);
});

test("a row by its key", () => {
  const key = { column: { name: "2 id", type: text }, isVerified: false };
  expect(rowEndpoint(tableOf({ "2 id": text }, { key }), "trips")).toMatchObject({
    path: "/trips/:_2_id",
    sql: `SELECT *\nFROM "trips"\nWHERE "2 id" = '{{params._2_id}}'\n`,
    yaml: expect.stringContaining("checked for the first rows only"),
  });
  expect(rowEndpoint(tableOf({ id: int }), "trips")).toBeUndefined();
});

test("a summary reads the table once, and compares no lists", () => {
  const { sql } = summaryEndpoint(tableOf({ "it's": int, l: { kind: "list", item: int } }), "trips");
  expect(sql.match(/FROM/g)).toHaveLength(1);
  expect(sql).toContain(
    `{"column": 'it''s', "values": count("it's"), "nulls": count(*) - count("it's"), "min": min("it's")::VARCHAR,`,
  );
  expect(sql).toContain(`"min": NULL::VARCHAR, "max": NULL::VARCHAR}`);
});

test("no two tables share a path, and none takes a path of Eider", () => {
  const titles = ["a", "A!", "a summary", "health", "名前", "情報"];
  const paths = tableEndpoints(titles.map((title) => tableOf({ x: int }, { title }))).map(({ path }) => path);
  expect(new Set(paths).size).toBe(paths.length);
  expect(paths).toEqual(expect.arrayContaining(["/a", "/a-2", "/a-summary-2", "/health-2", "/data", "/data-2"]));
});
