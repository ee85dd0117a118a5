import { expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { type Files, problemsFrom, serviceFrom, type TestService } from "../service.ts";
import { bodyFields, INT, outcome, route, send } from "./write-project.ts";

/** `rows_affected` of writes that run SQL in the server itself, through `postgres_execute` and `mysql_execute`. */

const postgres = sharedPostgres();
const mariaDb = sharedMariaDb();
const withPostgres = testNeeding(missingPostgres, missingExtensions("postgres_scanner"));
const withMariaDb = testNeeding(missingMariaDb, missingExtensions("mysql_scanner"));

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const onPostgres = (sql: string): string => `CALL postgres_execute('crm', ${quoted(sql)})`;
const onMariaDb = (sql: string): string => `CALL mysql_execute('crm', ${quoted(sql)})`;

/** A database with its own connection `crm`. */
interface Store {
  readonly main: Files;
  sql(text: string): Promise<string>;
}

async function postgresStore(setup: string): Promise<Store> {
  const server = await postgres();
  const dsn = await server.createDatabase();
  await server.sql(dsn, setup);
  return {
    main: mainFile("postgres_scanner", `{ init: "LOAD postgres; ATTACH ${quoted(dsn)} AS crm (TYPE postgres)" }`),
    sql: (text) => server.sql(dsn, text),
  };
}

async function mariaDbStore(setup: string): Promise<Store> {
  const server = await mariaDb();
  const database = await server.createDatabase();
  await server.sql(database, setup);
  const connection = `{ type: mysql, host: 127.0.0.1, port: ${server.port}, user: root, database: ${database} }`;
  return { main: mainFile("mysql_scanner", connection), sql: (text) => server.sql(database, text) };
}

function mainFile(extension: string, connection: string): Files {
  return {
    "eider.yaml": `duckdb: { extension_directory: '${extensionDirectory(extension)}' }
connections: { crm: ${connection.replaceAll("\\", "\\\\")} }
http-status: { constraint-failure: client-error }
`,
  };
}

function overStore(target: string, sql: string, yaml = ""): Files {
  return Object.fromEntries(
    Object.entries(route(target, sql, yaml)).map(([file, text]) => [file, text.replace("[memory]", "[crm]")]),
  );
}

/** SQL and the number of rows that it changes in a table `t` with the ids 1 to 5 and `v` 0. */
type Case = readonly [name: string, sql: string, affected: number];

async function expectCounts(cases: readonly Case[], { main, sql }: Store, reset: string): Promise<void> {
  const endpoints = cases.map(([, template], index) => overStore(`POST /case/${index}`, template));
  await using service = await serviceFrom(Object.assign({}, main, ...endpoints));
  const seen: [string, unknown][] = [];
  for (const [index, [name]] of cases.entries()) {
    await sql(reset);
    seen.push([name, (await send(service, `POST /case/${index}`)).text]);
  }
  expect(seen).toEqual(cases.map(([name, , affected]) => [name, `{"rows_affected":${affected}}`]));
}

const UPSERT =
  "INSERT INTO t VALUES (5, 7), (6, 7) ON CONFLICT (id) DO UPDATE SET v = excluded.v WHERE t.v < excluded.v";

const POSTGRES_CASES: readonly Case[] = [
  ["INSERT of three", onPostgres("INSERT INTO t VALUES (6, 1), (7, 1), (8, 1)"), 3],
  ["UPDATE of five", onPostgres("UPDATE t SET v = 1"), 5],
  ["UPDATE to the same values", onPostgres("UPDATE t SET v = v WHERE id > 1"), 4],
  ["UPDATE of none", onPostgres("UPDATE t SET v = 1 WHERE id > 99"), 0],
  ["DELETE of two", onPostgres("DELETE FROM t WHERE id > 3"), 2],
  ["ON CONFLICT DO UPDATE", onPostgres(UPSERT), 2],
  ["ON CONFLICT DO NOTHING", onPostgres("INSERT INTO t VALUES (5, 7), (6, 7) ON CONFLICT DO NOTHING"), 1],
  [
    "MERGE",
    onPostgres(
      "MERGE INTO t USING (VALUES (5, 7), (6, 7)) s (id, v) ON s.id = t.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)",
    ),
    2,
  ],
  ["WITH", onPostgres("WITH s AS (SELECT 2 AS id) UPDATE t SET v = 1 FROM s WHERE t.id <= s.id"), 2],
  ["RETURNING", onPostgres("UPDATE t SET v = 1 WHERE id < 3 RETURNING id"), 2],
  ["COPY into a table", onPostgres("COPY t FROM PROGRAM 'echo 6,1; echo 7,1' (FORMAT csv)"), 2],
  ["two statements in one call", onPostgres("UPDATE t SET v = 1 WHERE id < 3; DELETE FROM t WHERE id = 5;"), 3],
  ["two calls", `${onPostgres("UPDATE t SET v = 1 WHERE id < 3")}; ${onPostgres("DELETE FROM t WHERE id = 5")}`, 3],
  ["FROM", "FROM postgres_execute('crm', 'DELETE FROM t WHERE id > 3')", 2],
  ["SELECT * FROM", "SELECT * FROM postgres_execute('crm', 'DELETE FROM t WHERE id > 3')", 2],
  ["the option that it has by default", "CALL postgres_execute('crm', 'DELETE FROM t', use_transaction := true)", 5],
  [
    "mixed with statements of DuckDB",
    `UPDATE crm.t SET v = 2 WHERE id < 4; ${onPostgres("UPDATE t SET v = v + 1 WHERE v = 2")}; DELETE FROM crm.t WHERE v = 3; SELECT 1`,
    9,
  ],
  ["a trigger that writes elsewhere", onPostgres("UPDATE watched SET v = 1"), 2],
  ["rows that a foreign key deletes", onPostgres("DELETE FROM parent"), 1],
  ["a BEFORE trigger that skips rows", onPostgres("INSERT INTO guarded VALUES (1), (-1), (2)"), 2],
  ["DDL", onPostgres("CREATE TABLE IF NOT EXISTS made (id INT); DROP TABLE made"), 0],
  ["DDL and rows", onPostgres("CREATE TEMP TABLE made ON COMMIT DROP AS SELECT 1 AS id; UPDATE t SET v = 1"), 5],
  ["SELECT of a function that writes", onPostgres("SELECT add_log()"), 0],
  ["SELECT after rows", onPostgres("DELETE FROM t WHERE id = 1; SELECT * FROM t"), 1],
  ["a savepoint that is rolled back", onPostgres("SAVEPOINT a; DELETE FROM t; ROLLBACK TO a; UPDATE t SET v = 1"), 5],
  [
    "a savepoint after another call",
    `${onPostgres("DELETE FROM t WHERE id = 1")}; ${onPostgres("SAVEPOINT a; DELETE FROM t; ROLLBACK TO SAVEPOINT a")}`,
    1,
  ],
  ["strings with semicolons", onPostgres("INSERT INTO log VALUES ('a;b'), ('$eider$'), ($x$ ;'; $x$), (E'\\';')"), 4],
  ["comments", onPostgres("-- one; two\nDELETE FROM t /* ; */ WHERE id = 1 -- end\n; -- last"), 1],
  [
    "functions and rules that hold statements",
    onPostgres(
      "CREATE OR REPLACE FUNCTION two() RETURNS VOID LANGUAGE sql BEGIN ATOMIC DELETE FROM log; UPDATE t SET v = CASE WHEN v > 0 THEN 0 END; END; CREATE OR REPLACE RULE r AS ON DELETE TO log DO ALSO (INSERT INTO t VALUES (9, 9); DELETE FROM t WHERE id = 9); UPDATE t SET v = 1",
    ),
    5,
  ],
  ["no statement", onPostgres("-- nothing"), 0],
];

withPostgres("postgres_execute: the number of rows that Postgres reports for each statement", async () => {
  const store = await postgresStore(`
    CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE log (what TEXT);
    CREATE TABLE watched AS SELECT 1 AS id, 0 AS v UNION ALL SELECT 2, 0;
    CREATE FUNCTION add_log() RETURNS INT LANGUAGE sql AS 'INSERT INTO log VALUES (''x''), (''y''); SELECT 1';
    CREATE FUNCTION on_change() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN INSERT INTO log SELECT ''x'' FROM t; RETURN NEW; END';
    CREATE TRIGGER change AFTER UPDATE ON watched FOR EACH ROW EXECUTE FUNCTION on_change();
    CREATE TABLE parent (id INT PRIMARY KEY); CREATE TABLE child (id INT REFERENCES parent ON DELETE CASCADE);
    CREATE TABLE guarded (id INT);
    CREATE FUNCTION positive() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN IF NEW.id < 0 THEN RETURN NULL; END IF; RETURN NEW; END';
    CREATE TRIGGER positive BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION positive()`);
  const reset =
    "DROP RULE IF EXISTS r ON log; DELETE FROM t; INSERT INTO t SELECT i, 0 FROM generate_series(1, 5) i; DELETE FROM log; DELETE FROM parent; INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1), (1)";
  await expectCounts(POSTGRES_CASES, store, reset);
});

const MARIADB_CASES: readonly Case[] = [
  ["INSERT of three", onMariaDb("INSERT INTO t VALUES (6, 1), (7, 1), (8, 1)"), 3],
  ["UPDATE of five", onMariaDb("UPDATE t SET v = 1"), 5],
  // MySQL counts rows that changed, not those that it found.
  ["UPDATE to the same values", onMariaDb("UPDATE t SET v = 0 WHERE id > 1"), 0],
  ["DELETE of two", onMariaDb("DELETE FROM t WHERE id > 3"), 2],
  // MySQL counts a row twice if its INSERT becomes an UPDATE.
  ["ON DUPLICATE KEY", onMariaDb("INSERT INTO t VALUES (5, 7), (6, 7) ON DUPLICATE KEY UPDATE v = VALUES(v)"), 3],
  ["INSERT IGNORE", onMariaDb("INSERT IGNORE INTO t VALUES (5, 7), (6, 7)"), 1],
  ["two calls", `${onMariaDb("UPDATE t SET v = 1 WHERE id < 3")}; ${onMariaDb("DELETE FROM t WHERE id = 5")}`, 3],
  ["FROM", "FROM mysql_execute('crm', 'DELETE FROM t WHERE id > 3')", 2],
  ["parameters", "CALL mysql_execute('crm', 'DELETE FROM t WHERE id > ? OR id = ?', params := row(3, 1))", 3],
  [
    "mixed with statements of DuckDB",
    `UPDATE crm.t SET v = 2 WHERE id < 4; ${onMariaDb("UPDATE t SET v = v + 1 WHERE v = 2")}; DELETE FROM crm.t WHERE v = 3; SELECT 1`,
    9,
  ],
  ["a trigger that writes elsewhere", onMariaDb("UPDATE watched SET v = v + 1"), 2],
  ["DDL", onMariaDb("CREATE OR REPLACE TABLE made (id INT)"), 0],
  [
    "a function that holds statements",
    onMariaDb(
      "CREATE OR REPLACE FUNCTION add_log() RETURNS INT BEGIN INSERT INTO log VALUES ('x'), ('y'); RETURN 1; END",
    ),
    0,
  ],
  ["SELECT of a function that writes", onMariaDb("SELECT add_log()"), 0],
  ["SELECT after rows", `${onMariaDb("DELETE FROM t WHERE id = 1")}; ${onMariaDb("SELECT * FROM t")}`, 1],
  ["strings with semicolons", onMariaDb(`INSERT INTO log VALUES ('a;b'), ("a\\";b"), ('it''s; \\';') # ; x`), 3],
];

withMariaDb("mysql_execute: the number of rows that MariaDB reports", async () => {
  const store = await mariaDbStore(`
    CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE log (what TEXT); CREATE TABLE watched (id INT, v INT);
    INSERT INTO watched VALUES (1, 0), (2, 0);
    CREATE TRIGGER change_watched AFTER UPDATE ON watched FOR EACH ROW INSERT INTO log SELECT 'x' FROM t`);
  await expectCounts(
    MARIADB_CASES,
    store,
    "DELETE FROM t; INSERT INTO t SELECT seq, 0 FROM seq_1_to_5; DELETE FROM log",
  );
});

const FIELDS = bodyFields({ id: INT, name: "" });

withPostgres("values are quoted for Postgres, whatever they hold", async () => {
  const { main, sql } = await postgresStore("CREATE TABLE people (id INT, name TEXT)");
  const insert =
    "CALL postgres_execute('crm', 'INSERT INTO people VALUES (' || {{params.id}} || ', ' || sql_literal({{params.name}}) || ')')";
  await using service = await serviceFrom({ ...main, ...overStore("POST /people", insert, FIELDS) });
  const names = ["O'Hara", "$eider$; DELETE FROM people; $eider$", "$$", "a; COMMIT", "\\'", "$eider_$eider$", "--"];
  for (const [id, name] of names.entries()) {
    expect(await outcome(service, "POST /people", { id, name })).toEqual([200, { rows_affected: 1 }]);
  }
  expect((await sql("SELECT name FROM people ORDER BY id")).split("\n")).toEqual(names);
});

withPostgres("an error is that of the statement itself, and undoes all statements", async () => {
  const { main, sql } = await postgresStore(`
    CREATE TABLE t AS SELECT 1 AS id; ALTER TABLE t ADD PRIMARY KEY (id); CREATE TABLE log (what TEXT);
    CREATE FUNCTION refuse() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''not now''; END';
    CREATE TRIGGER refuse BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION refuse()`);
  const templates = {
    key: `${onPostgres("INSERT INTO log VALUES ('x')")}; ${onPostgres("INSERT INTO t VALUES (2), (1)")}`,
    table: onPostgres("INSERT INTO log VALUES ('x'); INSERT INTO missing VALUES (1)"),
    trigger: onPostgres("DELETE FROM t"),
    later: `${onPostgres("INSERT INTO log VALUES ('x')")}; SELECT error('403: not yours')`,
  };
  const endpoints = Object.entries(templates).map(([name, template]) => overStore(`POST /${name}`, template));
  await using service = await serviceFrom(Object.assign({}, main, ...endpoints));
  const expected: Record<keyof typeof templates, readonly [number, RegExp]> = {
    key: [
      409,
      /"INSERT INTO t VALUES \(2\), \(1\)": ERROR: {2}duplicate key .* "t_pkey"\nDETAIL: .* already exists\.$/,
    ],
    table: [
      500,
      /INSERT INTO log VALUES \('x'\); INSERT INTO missing VALUES \(1\)": ERROR: .* "missing" does not exist$/,
    ],
    trigger: [500, /DELETE FROM t": ERROR: {2}not now\nCONTEXT: {2}PL\/pgSQL function refuse\(\) line 1 at RAISE$/],
    later: [403, /^not yours$/],
  };
  for (const [name, [status, message]] of Object.entries(expected)) {
    expect(await outcome(service, `POST /${name}`)).toEqual([status, { error: expect.stringMatching(message) }]);
  }
  expect(await sql("SELECT count(*) FROM log")).toBe("0");
});

withPostgres("each statement commits by itself, or rows are returned", async () => {
  const { main, sql } = await postgresStore("CREATE TABLE t AS SELECT i AS id FROM generate_series(1, 5) i");
  const remove = (condition: string): string => onPostgres(`DELETE FROM t WHERE ${condition}`);
  await using service = await serviceFrom({
    ...main,
    ...overStore(
      "POST /each",
      `${remove("id = 1")}; ${remove("id > 3")}; ${onPostgres("DELETE FROM missing")}`,
      "operation: { transaction: false }\n",
    ),
    ...overStore("POST /all", `${remove("id = 2")}; ${remove("id = 9")}`, "operation: { transaction: false }\n"),
    ...overStore("POST /rows", `${remove("id = 3")}; SELECT * FROM crm.t`, "operation: { returns-data: true }\n"),
  });
  expect((await send(service, "POST /each")).status).toBe(500);
  expect(await sql("SELECT string_agg(id::text, ',' ORDER BY id) FROM t")).toBe("2,3");
  expect(await outcome(service, "POST /all")).toEqual([200, { rows_affected: 1 }]);
  expect(await outcome(service, "POST /rows")).toEqual([200, { rows_affected: 1, data: [] }]);
});

const CLIENTS = 16;
const TIMES = 5;

/** What clients that write at the same time receive, and how often. */
async function responsesTo(
  service: TestService,
  target: string,
  bodyOf: (client: number) => object = () => ({}),
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const run = async (client: number): Promise<void> => {
    for (let time = 0; time < TIMES; time++) {
      const { status, text } = await send(service, target, bodyOf(client));
      const response = `${status} ${text}`;
      counts[response] = (counts[response] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, client) => run(client + 1)));
  return counts;
}

/** Clients change as many rows as their number says; then all of them change the same row. */
async function expectOwnCounts({ main, sql }: Store, on: (sql: string) => string): Promise<void> {
  const call = on("UPDATE mine SET n = n + 1 WHERE client = ")
    .replace(/'\)$/, "' || {{params.id}})")
    .concat(`; ${on("INSERT INTO log VALUES (1), (2)")}`);
  const shared = `${on("UPDATE counter SET n = n + 1")}; ${on("INSERT INTO log VALUES (3)")}`;
  await using service = await serviceFrom({
    ...main,
    ...overStore("POST /mine", call, bodyFields({ id: INT })),
    ...overStore("POST /shared", shared),
  });
  const expected = Array.from({ length: CLIENTS }, (_, client) => [`200 {"rows_affected":${client + 3}}`, TIMES]);
  expect(await responsesTo(service, "POST /mine", (id) => ({ id }))).toEqual(Object.fromEntries(expected));
  // Postgres rejects all but one of those that run at the same time, and Eider repeats them.
  expect(await responsesTo(service, "POST /shared")).toEqual({ '200 {"rows_affected":2}': CLIENTS * TIMES });
  const rows = await sql("SELECT n FROM counter UNION ALL SELECT count(*) FROM log WHERE what = 3");
  expect(rows.split("\n")).toEqual([String(CLIENTS * TIMES), String(CLIENTS * TIMES)]);
}

withPostgres("16 clients at once: each gets the number of its own rows, once", async () => {
  const store = await postgresStore(`
    CREATE TABLE mine AS SELECT c AS client, 0 AS n FROM generate_series(1, 16) c, generate_series(1, 16) r WHERE r <= c;
    CREATE TABLE counter AS SELECT 0 AS n; CREATE TABLE log (what INT)`);
  await expectOwnCounts(store, onPostgres);
});

withMariaDb("16 clients of MariaDB at once: each gets the number of its own rows, once", async () => {
  const store = await mariaDbStore(`
    CREATE TABLE mine AS SELECT c.seq AS client, 0 AS n FROM seq_1_to_16 c, seq_1_to_16 r WHERE r.seq <= c.seq;
    ALTER TABLE mine ADD INDEX (client);
    CREATE TABLE counter AS SELECT 0 AS n; CREATE TABLE log (what INT)`);
  await expectOwnCounts(store, onMariaDb);
});

const uncountable = (name: string): string =>
  `rows_affected cannot count what ${name} changes here; make the call a statement of its own: CALL ${name}('database', 'SQL')`;

withPostgres("calls whose rows cannot be counted are rejected at load", async () => {
  const { main } = await postgresStore("CREATE TABLE t (id INT)");
  const outside =
    "rows_affected cannot count rows that change outside the transaction; leave out use_transaction := false";
  const ending = (verb: string): string =>
    `postgres_execute must not end the transaction (${verb}); remove it: Eider commits when all statements have run`;
  const text = "'DELETE FROM t WHERE id = ' || {{params.id}}";
  for (const [sql, problem] of [
    [`SELECT count(*) FROM postgres_execute('crm', ${text})`, `1:22: ${uncountable("postgres_execute")}`],
    [`CALL\n postgres_execute('crm', ${text} || '; COMMIT')`, `2:2: ${ending("COMMIT")}`],
    [`CALL postgres_execute('crm', ${text} || '; ROLLBACK')`, `1:6: ${ending("ROLLBACK")}`],
    [`CALL postgres_execute('crm', ${text}, use_transaction := false)`, `1:6: ${outside}`],
  ]) {
    const problems = await problemsFrom({
      ...main,
      ...overStore("POST /t", sql ?? "", bodyFields({ id: "required: true, validators: [{ type: int }]" })),
    });
    expect(problems).toEqual([`post-t.sql:${problem}`]);
  }
  const vacuum = "CALL postgres_execute('crm', 'VACUUM t', use_transaction := false)";
  expect(await problemsFrom({ ...main, ...overStore("POST /t", vacuum) })).toEqual([]);
});

withMariaDb("calls of mysql_execute whose rows cannot be counted are rejected at load", async () => {
  const { main } = await mariaDbStore("CREATE TABLE t (id INT)");
  for (const [sql, problem] of [
    [
      onMariaDb("DELETE FROM t; DELETE FROM t"),
      "mysql_execute runs one statement, and this SQL holds several; write one CALL mysql_execute(...) for each",
    ],
    [
      onMariaDb("DELETE FROM t WHERE id = 1 RETURNING id"),
      "mysql_execute does not return the rows of RETURNING, and MariaDB does not count them; leave it out",
    ],
    ["FROM mysql_execute('crm', 'DELETE FROM t'), range(2)", uncountable("mysql_execute")],
  ]) {
    expect(await problemsFrom({ ...main, ...overStore("POST /t", sql ?? "") })).toEqual([`post-t.sql:1:6: ${problem}`]);
  }
  for (const sql of ["DELETE FROM t;", "INSERT INTO t (id) SELECT id FROM t # ; RETURNING"]) {
    expect(await problemsFrom({ ...main, ...overStore("POST /t", onMariaDb(sql)) })).toEqual([]);
  }
});
