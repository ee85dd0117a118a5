import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { extensionDirectory, missingExtensions } from "../../../../test/extensions.ts";
import { testNeeding } from "../../../../test/needing.ts";
import { roleByName } from "./function-roles.ts";
import { isListed } from "./user-functions.ts";

/** Loaded in this order: some need others. */
const EXTENSIONS = [
  "avro",
  "aws",
  "azure",
  "delta",
  "ducklake",
  "excel",
  "fts",
  "httpfs",
  "iceberg",
  "inet",
  "mysql_scanner",
  "postgres_scanner",
  "spatial",
  "sqlite_scanner",
  "tpcds",
  "tpch",
  "vss",
];

/** Functions that DuckDB has with these extensions and that are in no list. */
async function unlisted(extensions: readonly string[]): Promise<readonly string[]> {
  const settings = extensions.length === 0 ? {} : { extension_directory: extensionDirectory(...extensions) };
  const instance = await DuckDBInstance.create(":memory:", { ...settings, autoinstall_known_extensions: "false" });
  const connection = await instance.connect();
  for (const extension of extensions) await connection.run(`LOAD ${extension}`);
  // A PRAGMA takes no parameters, so no value gets there.
  const rows = await connection.runAndReadAll(
    "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type <> 'pragma' AND regexp_matches(function_name, '^\\w') ORDER BY 1",
  );
  const names = rows.getRowsJson().map(([name]) => String(name));
  connection.closeSync();
  expect(names.length).toBeGreaterThan(700);
  return names.filter((name) => !isListed(name));
}

test("every function of DuckDB is in a list: may it take client values, or what does it do with them?", async () => {
  expect(await unlisted([])).toEqual([]);
});

testNeeding(missingExtensions(...EXTENSIONS))("so is every function of its extensions", async () => {
  expect(await unlisted(EXTENSIONS)).toEqual([]);
});

test("what reads files, runs SQL or names something is known by its name, from whatever extension", () => {
  expect(["read_anything", "anything_scan", "anything_attach", "glob", "http_get"].map(roleByName)).toEqual(
    Array(5).fill({ kind: "file" }),
  );
  expect(["query_table", "nextval", "getvariable", "columns"].map(roleByName)).toEqual(Array(4).fill({ kind: "name" }));
});
