import { expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { endpoint, type Files, problemsFrom, serviceFrom } from "../service.ts";

const postgres = sharedPostgres();
const TEXT =
  "with-pagination: false\nrequest: [{ field-name: v, field-in: query, validators: [{ type: string, preventSqlInjection: false }] }]\n";

function project(extension: string, init: string, sql: string): Files {
  const main = `duckdb:\n  extension_directory: ${extensionDirectory(extension)}\nconnections:\n  memory:\n    init: |\n`;
  return { "eider.yaml": main + init.replace(/^/gm, "      "), ...endpoint(sql, TEXT) };
}

testNeeding(missingPostgres, missingExtensions("postgres_scanner"))(
  "a macro over postgres_query counts as postgres_query",
  async () => {
    const server = await postgres();
    const dsn = await server.createDatabase();
    const database = /dbname=(\S+)/.exec(dsn)?.[1] ?? "";
    await server.sql(
      database,
      "CREATE TABLE people AS SELECT 'Ada' AS name; CREATE TABLE secrets AS SELECT 'hidden' AS name",
    );
    const attach = `LOAD postgres_scanner;\nATTACH '${dsn.replaceAll("'", "''")}' AS pg (TYPE postgres);\n`;
    const macro = "CREATE MACRO crm(q) AS TABLE SELECT * FROM postgres_query('pg', q);";
    const quoted =
      "CREATE MACRO person(n) AS TABLE SELECT * FROM postgres_query('pg', 'SELECT name FROM people WHERE name = ' || sql_literal(n));";
    const careless = "SELECT * FROM crm('SELECT name FROM people WHERE name = ''{{{params.v}}}''')";
    expect(await problemsFrom(project("postgres_scanner", attach + macro, careless))).toEqual([
      expect.stringMatching(/^x\.sql:1:19: warning: a client value becomes part of the SQL that crm runs; write /),
    ]);
    const attack = encodeURIComponent("' UNION ALL SELECT name FROM secrets --");
    {
      await using service = await serviceFrom(project("postgres_scanner", attach + macro, careless));
      expect(await service.json("/x?v=Ada")).toEqual([{ name: "Ada" }]);
      expect((await service.get(`/x?v=${attack}`)).status).toBe(400);
    }
    await using service = await serviceFrom(
      project("postgres_scanner", attach + quoted, "SELECT * FROM person('{{{params.v}}}')"),
    );
    expect(await service.json("/x?v=Ada")).toEqual([{ name: "Ada" }]);
    expect(await service.json(`/x?v=${attack}`)).toEqual([]);
  },
);

testNeeding(missingExtensions("fts"))("the macros of a search index take what a client searches for", async () => {
  const init = `LOAD fts;
CREATE TABLE docs AS SELECT * FROM (VALUES (1, 'the quick brown fox'), (2, 'a lazy dog')) t(id, body);
PRAGMA create_fts_index('docs', 'id', 'body');`;
  const sql =
    "SELECT id FROM (SELECT id, fts_main_docs.match_bm25(id, '{{{params.v}}}') AS score FROM docs) WHERE score IS NOT NULL";
  await using service = await serviceFrom(project("fts", init, sql));
  expect(await service.json("/x?v=fox")).toEqual([{ id: 1 }]);
  expect(await service.json(`/x?v=${encodeURIComponent("' OR 1=1 --")}`)).toEqual([]);
});
