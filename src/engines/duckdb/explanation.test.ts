import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { failureOf, statement, testEngine } from "../../../test/suites/duckdb-engine.ts";
import { logMessage } from "../../failure.ts";
import { explainText } from "./explanation.ts";

const MANY = Array.from({ length: 12 }, (_, index) => `CREATE TABLE crm.t${index + 10} (id INT);`).join(" ");
const SETUP = `
  CREATE TABLE customers (id INT, name VARCHAR); CREATE TABLE orders (id INT, amount INT);
  CREATE SCHEMA sales; CREATE VIEW sales.regions AS SELECT 1 AS region;
  ATTACH ':memory:' AS crm; ${MANY} CREATE TABLE crm."big deals" (price INT); ATTACH ':memory:' AS bare`;

const problems: readonly (readonly [sql: string, explanation: string | undefined])[] = [
  ["SELECT * FROM custmers", "no table custmers in the default database; tables there: customers, orders, regions"],
  [
    "INSERT INTO custmers VALUES (1)",
    "no table custmers in the default database; tables there: customers, orders, regions",
  ],
  ['SELECT * FROM "big deals"', "no table big deals in the default database; there is crm.main.big deals"],
  [
    "SELECT * FROM customers JOIN crm.t1 USING (id)",
    "no table t1 in crm; tables there: t10, t11, t12, t13, t14, t15, t16, t17, t18, t19 and 3 more",
  ],
  [
    "SELECT * FROM CRM.Main.deals",
    "no table deals in CRM.Main; tables there: big deals, t10, t11, t12, t13, t14, t15, t16, t17, t18 and 3 more",
  ],
  ["SELECT * FROM sales.region", "no table region in sales; tables there: regions"],
  ["SELECT * FROM bare.t", "no table t in bare; there are no tables"],
  ["SELECT * FROM cmr.t10", "no database or schema cmr; databases there: crm, bare, memory"],
  ["SELECT * FROM crm.nowhere.t10", "no schema nowhere in crm; schemas there: main"],
  ["SELECT nmae FROM customers WHERE id = 1", "no column nmae in customers; columns there: name, id"],
  ["SELECT c.amount FROM customers AS c, orders o", "no column amount in customers; columns there: name, id"],
  [
    "SELECT nosuch FROM customers JOIN crm.t10 USING (id)",
    "no column nosuch in customers, crm.t10; columns there: name, id",
  ],
  ["SELECT x FROM range(3) r", "no column x in range(3); columns there: range"],
  ["INSERT INTO customers (nam) VALUES ('x')", "no column nam in customers; columns there: name, id"],
  ["UPDATE customers SET nam = 'x'", "no column nam in customers; columns there: name, id"],
  ["DELETE FROM crm.t10 WHERE idd = 1", "no column idd in crm.t10; columns there: id"],
  ["SELECT * EXCLUDE (nam) FROM customers", "no column nam in customers; columns there: name, id"],
  ["SELECT lenght('x')", "no function lenght; similar names: length"],
  [
    "SELECT quitedifferentfromanything(1)",
    "no function quitedifferentfromanything; it may belong to an extension that is not loaded",
  ],
  ["SELECT * FROM rnge(3)", "no function rnge; similar names: range"],
  // The column exists, but not in the sub-query.
  ["SELECT name FROM (SELECT id FROM customers) c", undefined],
  ["SELECT a FROM (SELECT 1 AS b)", undefined],
  ["SELECT sum(name) FROM customers", undefined],
];

test.each(problems)("%s", async (sql, explanation) => {
  await using t = await testEngine(SETUP);
  const problem = await t.engine.plan([statement(sql)]);
  expect(problem?.message).toMatch(/^(?:Binder|Catalog) Error/);
  expect(problem?.explanation).toBe(explanation);
});

test("a call that fails: the explanation is for the log only, and contains no values", async () => {
  await using t = await testEngine(SETUP);
  const read = (sql: string, value: string) =>
    failureOf(t.read({ statements: [statement(sql, { type: "VARCHAR", value })] }));
  const { failure } = await read("SELECT name FROM crm.t10 WHERE $1 = 'x'", "geheim");
  if (failure.kind !== "query-failed") throw new Error(failure.kind);
  const message = 'Binder Error: Referenced column "name" not found in FROM clause!\nCandidate bindings: "id"';
  expect(failure.message).toBe(message);
  expect(logMessage(failure)).toBe(`no column name in crm.t10; columns there: id; ${message}`);
  const { failure: other } = await read("FROM query_table($1)", "geheim");
  expect(other.kind === "query-failed" && logMessage(other)).not.toContain("geheim");
});

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-explanation-"));
  await writeFile(join(folder, "text.parquet"), "this is no Parquet file");
  await writeFile(join(folder, "empty.parquet"), "");
  await writeFile(join(folder, "odd.csv"), "id,n\n1,2\n2,x\n3,4,5\n");
  const rows = Array.from({ length: 30_000 }, (_, index) => `${index},${index}`);
  await writeFile(join(folder, "late.csv"), ["id,n", ...rows, "7,abc", ""].join("\n"));
});

afterAll(() => rm(folder, { recursive: true }));

test.each([
  ["FROM 'nowhere/*.parquet'", "no file matches nowhere/*.parquet in the working directory /srv/app"],
  ["FROM '/nowhere/x.parquet'", "no file matches /nowhere/x.parquet"],
  ["FROM '{folder}/text.parquet'", "{folder}/text.parquet is no Parquet file, or only a part of one"],
  ["FROM '{folder}/empty.parquet'", "{folder}/empty.parquet is no Parquet file, or only a part of one"],
  [
    "FROM read_csv('{folder}/odd.csv', columns = {'id': 'INT', 'n': 'INT'})",
    "the columns of {folder}/odd.csv could not be detected; name its delimiter, quote and columns in read_csv",
  ],
  [
    "FROM read_csv('{folder}/late.csv', sample_size = 10)",
    "line 30002 of {folder}/late.csv does not fit the columns; name these and their types in read_csv",
  ],
])("%s", async (sql, explanation) => {
  await using t = await testEngine("", { workingFolder: "/srv/app" });
  const { failure } = await failureOf(t.read({ statements: sql.replace("{folder}", folder) }));
  expect(failure).toMatchObject({ kind: "query-failed", explanation: explanation.replace("{folder}", folder) });
});

/** Of servers that the tests do not start. Others are in `test/stress/bad-sources.test.ts`. */
test.each([
  [
    'IO Error: Unable to connect to Postgres at "": connection to server at "db" (10.0.0.1), port 5432 failed: timeout expired',
    "port 5432 of db does not respond; a firewall may block it",
  ],
  [
    'IO Error: Unable to connect to Postgres at "": FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "a", database "b", no encryption',
    "the server accepts no connection without TLS from here; set ssl-mode: require",
  ],
  [
    "HTTP Error: HTTP GET error on 'https://h/x.csv' (HTTP 403 Forbidden)",
    "access to https://h/x.csv is denied; check its secret and the region",
  ],
  [
    "IO Error: Could not resolve hostname error for HTTP HEAD to 'https://h/x'",
    "the host of https://h/x does not exist",
  ],
  ["Conversion Error: Could not convert string 'x' to INT32", undefined],
])("%s", (message, explanation) => {
  expect(explainText(message)).toBe(explanation);
});
