import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { statement, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import { fileIdentity } from "../../../config/files.ts";

const folder = mkdtempSync(join(tmpdir(), "eider-csv-"));
afterAll(() => rmSync(folder, { recursive: true }));
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

/** An engine that plans statements over CSV files, and counts for which files it asked whether they are the same. */
async function csvEngine() {
  const asked: string[] = [];
  const t = await testEngine("", {
    fileIdentity(path) {
      asked.push(path);
      return fileIdentity(path);
    },
  });
  const plan = async (sql: string) => (await t.engine.plan([statement(sql)]))?.message;
  return { asked, plan, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

const ROWS = 'id,it\'s,"a ""b""",moment,day,yes,ratio\n1,x,y,2024-01-01 10:00:00,2024-01-01,true,1.5\n';

test("names and types are those that DuckDB detects, whatever they contain", async () => {
  const path = write("odd.csv", ROWS);
  await using t = await csvEngine();
  for (const _ of [1, 2]) {
    const sql = `SELECT id + 1, "it's" || 'x', upper("a ""b"""), moment + INTERVAL 1 DAY, year(day), NOT yes, ratio * 2 FROM`;
    expect(await t.plan(`${sql} read_csv('${path}')`)).toBeUndefined();
    expect(await t.plan(`${sql} READ_CSV_AUTO ( -- here\n '${path}' ) AS t WHERE t.id = 1`)).toBeUndefined();
    expect(await t.plan(`SELECT nosuch FROM read_csv('${path}')`)).toContain('"nosuch" not found');
    expect(await t.plan(`SELECT year("it's") FROM read_csv('${path}')`)).toContain("year(VARCHAR)");
    expect(await t.plan(`SELECT read_csv.id, filename FROM read_csv('${path}')`)).toBeUndefined();
  }
  expect(t.asked).not.toEqual([]);
});

test("a file that has changed is detected again", async () => {
  const path = write("changing.csv", "a\n1\n");
  await using t = await csvEngine();
  expect(await t.plan(`SELECT a FROM read_csv('${path}')`)).toBeUndefined();
  write("changing.csv", "b,c\n1,2\n");
  expect(await t.plan(`SELECT b, c FROM read_csv('${path}')`)).toBeUndefined();
  expect(await t.plan(`SELECT a FROM read_csv('${path}')`)).toContain('"a" not found');
  rmSync(path);
  expect(await t.plan(`SELECT b FROM read_csv('${path}')`)).toContain("No files found");
});

test("the problem of a statement points to where it is in the original", async () => {
  const path = write("place.csv", "a\n1\n");
  await using t = await testEngine("", { fileIdentity });
  const sql = `SELECT a FROM read_csv('${path}') WHERE nosuch = 1`;
  expect((await t.engine.plan([statement(sql)]))?.offset).toBe(sql.indexOf("nosuch"));
});

test.each([
  ["a pattern", (path: string) => `read_csv('${path.replace("plain", "pl*in")}')`],
  ["another option", (path: string) => `read_csv('${path}', header = true)`],
  ["a list of files", (path: string) => `read_csv(['${path}'])`],
  ["a file by its name", (path: string) => `'${path}'`],
  ["a call in a string", (path: string) => `(SELECT 1 AS a, 'read_csv(''${path}'')')`],
])("%s is left to DuckDB", async (_, source) => {
  const path = write("plain.csv", "a\n1\n");
  await using t = await csvEngine();
  expect(await t.plan(`SELECT a FROM ${source(path)}`)).toBeUndefined();
  expect(t.asked).toEqual([]);
});
