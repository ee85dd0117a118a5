import { expect, test } from "vitest";
import { engine } from "../engines/index.ts";
import type { ParamValue } from "../params/parameter.ts";
import { compileTemplate } from "../sql/compile-template.ts";
import { loggedQuery } from "./logged-query.ts";

const { dialect } = engine;

const values: Readonly<Record<string, ParamValue>> = {
  year: { text: "2024", type: "BIGINT", value: 2024n },
  name: { text: "O'Brien", type: "VARCHAR", value: "O'Brien" },
  sort: { text: "created_at", type: "VARCHAR", value: "created_at" },
};

test.each([
  ["SELECT * FROM t WHERE y = {{params.year}}", "SELECT * FROM t WHERE y = $1", ["2024"]],
  ["SELECT '%{{{params.name}}}%' AS a", "SELECT $1 AS a", ["%O'Brien%"]],
  // Part of a name cannot be a parameter, and must not reveal the value.
  ["SELECT * FROM sales_{{params.year}}", "SELECT * FROM sales__", []],
  // Enum values are part of the statement.
  ["SELECT * FROM t ORDER BY {{params.sort}}", "SELECT * FROM t ORDER BY created_at", []],
  ["SELECT 1{{#params.none}} + 1{{/params.none}};\nSELECT 2", "SELECT 1;\nSELECT 2", []],
])("%s", (text, sql, parameters) => {
  const { template, problems } = compileTemplate(
    text,
    {
      params: new Map([
        ["year", "scalar"],
        ["name", "text"],
        ["sort", "enum"],
        ["none", "text"],
      ]),
      conn: new Map(),
      connectionName: "db",
      cache: new Map(),
      environment: () => "unlisted",
    },
    dialect,
  );
  expect(problems).toEqual([]);
  const ran = loggedQuery({ template, connections: ["db"] }, ({ name }) => values[name], { dialect });
  expect([ran.sql(() => false), ran.parameters(() => false)]).toEqual([sql, parameters]);
});
