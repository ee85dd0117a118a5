import { expect, test } from "vitest";
import { failureOf, statement, type TestEngine, testEngine } from "../../test/suites/duckdb-engine.ts";
import type { User } from "./policy.ts";
import { openSecretTable, tablePath } from "./secret-table.ts";

const { signal } = new AbortController();
const ann: User = { username: "ann", password: "p", roles: ["admin", "ops"] };
const bob: User = { username: "bob", password: "q", roles: [] };

const openTable = (name: string, { engine }: TestEngine) => openSecretTable(name, { engine, signal });
const rowsOf = async (t: TestEngine, table: string) =>
  (await t.read({ statements: `SELECT COLUMNS(*)::VARCHAR FROM ${table}` })).rows;

test.each([
  ["users", ["users"]],
  ["auth.users", ["auth", "users"]],
  ["lake.auth.users", ["lake", "auth", "users"]],
  ["_u1$", ["_u1$"]],
  ["größen", ["größen"]],
  ['"my users"', ["my users"]],
  ['"a.b"."c""d"', ["a.b", 'c"d']],
  ['auth."users; DROP TABLE x"', ["auth", "users; DROP TABLE x"]],
  ["select", ["select"]],
])("%s is a name", (name, path) => expect(tablePath(name)).toEqual(path));

test.each([
  "",
  " ",
  ".",
  "users.",
  ".users",
  "a..b",
  "a.b.c.d",
  "my users",
  "users;",
  "users; DROP TABLE x",
  "users--",
  "users(a)",
  "1users",
  "'users'",
  '""',
  '"users',
  'users"',
  '"a"b"',
  '"a" "b"',
  '"a"\n.b',
  '"a\nb"',
  "read_csv('x')",
  "a\0",
])("%j is no name", (name) => {
  expect(() => tablePath(name)).toThrow(
    'secret-table is not the name of a table; write users, auth.users or "my users"',
  );
});

test.each([
  ["users", "users"],
  ["Auth.Users", "auth.users"],
  ['"my auth"."my ""users"""', '"my auth"."my ""users"""'],
  ["memory.deep.users", "deep.users"],
  ["select", '"select"'],
  // A database that is attached: no schema of that name is made.
  ["other.users", "other.main.users"],
])("%s is made with its schema, filled and replaced", async (name, real) => {
  await using t = await testEngine("ATTACH ':memory:' AS other");
  const table = await openTable(name, t);
  await table.replace([ann, bob]);
  expect(await rowsOf(t, real)).toEqual([
    ["ann", "p", "[admin, ops]"],
    ["bob", "q", "[]"],
  ]);
  const columns = `SELECT column_name, column_type FROM (DESCRIBE ${real})`;
  expect((await t.read({ statements: columns })).rows).toEqual([
    ["username", "VARCHAR"],
    ["password", "VARCHAR"],
    ["roles", "VARCHAR[]"],
  ]);
  expect(await table.find("ann")).toEqual({ password: "p", roles: ["admin", "ops"] });
  expect(await table.find("bob")).toEqual({ password: "q", roles: [] });
  await table.replace([bob]);
  expect(await table.find("ann")).toBeUndefined();
  const again = await openTable(name, t);
  expect(await again.find("bob")).toEqual({ password: "q", roles: [] });
});

const ODD = [
  "o'brien",
  'a"b',
  "x'; DROP TABLE users; --",
  "' OR '1'='1",
  "$1",
  "%",
  "_",
  "\\",
  "a,b",
  "\u001f",
  "日本語",
  "👩‍🚀",
  " ann",
  "NULL",
  "null",
  "{{params.x}}",
];

test("names, passwords and roles are values, whatever they hold", async () => {
  await using t = await testEngine();
  const table = await openTable("users", t);
  const users = ODD.map((odd) => ({ username: odd, password: `${odd}!`, roles: [odd, ...ODD] }));
  await table.replace([ann, ...users]);
  for (const { username, password, roles } of users) expect(await table.find(username)).toEqual({ password, roles });
  expect(await rowsOf(t, "users")).toHaveLength(1 + ODD.length);
  for (const nobody of ["", "ANN", "an", "ann ", "ann\0", "ann\0x", "' OR true --"]) {
    expect(await table.find(nobody)).toBeUndefined();
  }
});

test("a collation that ignores case lets nobody in under another name", async () => {
  await using t = await testEngine("SET GLOBAL default_collation = 'nocase'");
  const table = await openTable("users", t);
  await table.replace([ann]);
  expect((await t.read({ statements: "SELECT count(*) FROM users WHERE username = 'ANN'" })).rows).toEqual([[1]]);
  expect(await table.find("ANN")).toBeUndefined();
  expect(await table.find("ann")).toEqual({ password: "p", roles: ["admin", "ops"] });
  await table.replace([ann, { ...ann, username: "ANN", roles: [] }]);
  expect(await table.find("ann")).toEqual({ password: "p", roles: ["admin", "ops"] });
  expect(await table.find("ANN")).toEqual({ password: "p", roles: [] });
});

test("a row that somebody else wrote counts; half a row and a name that is there twice do not", async () => {
  await using t = await testEngine();
  const table = await openTable("users", t);
  await table.replace([ann, bob]);
  await t.sql(`
    INSERT INTO users VALUES ('eve', 'e', ['x', NULL, 'y']), ('norole', 'n', NULL), ('nopass', NULL, ['x']),
      (NULL, 'z', NULL), ('bob', 'other', ['admin'])`);
  expect(await table.find("eve")).toEqual({ password: "e", roles: ["x", "y"] });
  expect(await table.find("norole")).toEqual({ password: "n", roles: [] });
  for (const nobody of ["nopass", "", "bob"]) expect(await table.find(nobody)).toBeUndefined();
});

test.each([
  "CREATE TABLE users (id INTEGER, name VARCHAR); INSERT INTO users VALUES (1, 'ann')",
  "CREATE TABLE users (username VARCHAR, password VARCHAR, roles VARCHAR); INSERT INTO users VALUES ('a', 'b', 'c')",
  "CREATE VIEW users AS SELECT 1 AS x",
])("what is there under the name, and is something else, stays: %s", async (setup) => {
  await using t = await testEngine(setup);
  const before = await rowsOf(t, "users");
  await expect(openTable("users", t)).rejects.toThrow(
    /^secret-table users: it already exists with columns other than username VARCHAR, /,
  );
  expect(before).toHaveLength(1);
  expect(await rowsOf(t, "users")).toEqual(before);
});

test("a table with keys of its own is filled again and again", async () => {
  await using t = await testEngine(
    "CREATE TABLE users (username VARCHAR PRIMARY KEY, password VARCHAR NOT NULL, roles VARCHAR[])",
  );
  const table = await openTable("users", t);
  for (const _ of [1, 2, 3]) await table.replace([ann, bob]);
  expect(await rowsOf(t, "users")).toHaveLength(2);
});

test("users that do not fit leave the old ones, and are not shown", async () => {
  await using t = await testEngine(
    "CREATE TABLE users (username VARCHAR, password VARCHAR CHECK (password <> 'hunter2'), roles VARCHAR[])",
  );
  const table = await openTable("users", t);
  await table.replace([ann]);
  await expect(table.replace([bob, { ...bob, password: "hunter2" }])).rejects.toThrow(
    new Error("its users cannot be written into secret-table users (query-failed)"),
  );
  expect(await rowsOf(t, "users")).toEqual([["ann", "p", "[admin, ops]"]]);
});

test("while users are replaced, everybody sees the old ones or the new ones", async () => {
  await using t = await testEngine();
  const table = await openTable("users", t);
  const many = (password: string) =>
    Array.from({ length: 20 }, (_, index) => ({ username: `user${index}`, password, roles: [password] }));
  await table.replace(many("0"));
  let last = 0;
  const replacing = (async () => {
    for (; last < 10; last++) await table.replace(many(String(last + 1)));
  })();
  const seen = new Set<unknown>();
  while (last < 10) {
    const query = statement("SELECT count(*), count(DISTINCT password), any_value(password) FROM users");
    const [row] = (await t.read({ statements: [query] })).rows;
    seen.add(JSON.stringify(row?.slice(0, 2)));
    const found = await table.find("user7");
    expect(found?.roles).toEqual([found?.password]);
  }
  await replacing;
  expect([...seen]).toEqual(["[20,1]"]);
});

test("a lookup fails with what the engine says when the table is gone", async () => {
  await using t = await testEngine();
  const table = await openTable("auth.users", t);
  await t.sql("DROP SCHEMA auth CASCADE");
  expect((await failureOf(table.find("ann"))).failure.kind).toBe("query-failed");
  await table.replace([ann]);
  expect(await table.find("ann")).toEqual({ password: "p", roles: ["admin", "ops"] });
});
