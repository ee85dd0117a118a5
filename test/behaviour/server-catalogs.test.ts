import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { type Files, type Program, startHere } from "../process/program.ts";
import { until } from "../until.ts";

/** A database on a server. */
interface Source {
  readonly dsn: string;
  sql(text: string): Promise<unknown>;
}

const shared = { postgres: sharedPostgres(), mysql: sharedMariaDb() };

const sources: Record<keyof typeof shared, () => Promise<Source>> = {
  async postgres() {
    const server = await shared.postgres();
    const dsn = await server.createDatabase();
    return { dsn, sql: (text) => server.sql(dsn, text) };
  },
  async mysql() {
    const server = await shared.mysql();
    const database = await server.createDatabase();
    const dsn = `host=127.0.0.1 port=${server.port} user=root database=${database}`;
    return { dsn, sql: (text) => server.sql(database, text) };
  },
};

const servers = [
  ["postgres", missingPostgres],
  ["mysql", missingMariaDb],
] as const;

function endpoint(name: string, sql: string, yaml = "with-pagination: false\n"): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [crm]\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

const WRITE = "method: POST\n";

async function json(program: Program, path: string, init: RequestInit = {}): Promise<unknown> {
  return (await fetch((await program.url()) + path, init)).json();
}

const add = (program: Program, path: string): Promise<unknown> => json(program, path, { method: "POST" });

async function status(program: Program, path: string): Promise<number> {
  return (await fetch((await program.url()) + path)).status;
}

async function save(program: Program, files: Files): Promise<void> {
  for (const [name, text = ""] of Object.entries(files)) await writeFile(join(program.folder, name), text);
}

async function reload(program: Program): Promise<void> {
  const count = (): number => program.stderr().split("reloaded: ").length;
  const before = count();
  program.signal("SIGHUP");
  await until("the reload", () => count() > before);
}

const CREATE = "CREATE TABLE t (id INT, n INT); INSERT INTO t VALUES (1, 7); CREATE TABLE log (id INT, n INT)";

async function serve(type: keyof typeof shared, { dsn }: Source, files: Files): Promise<Program> {
  const program = await startHere({
    "eider.yaml": `http-port: 0
duckdb: { extension_directory: '${extensionDirectory(`${type}_scanner`)}' }
connections:
  crm: { type: ${type}, dsn: ${JSON.stringify(dsn)} }
  local: { init: CREATE TABLE local_rows AS SELECT 1 AS id }
`,
    ...files,
  });
  await program.url();
  return program;
}

describe.each(servers)("%s", (type, missing) => {
  const needsServer = testNeeding(missing, missingExtensions(`${type}_scanner`));

  needsServer("a renamed column: the first call returns it, also if it is sent with others", async () => {
    const source = await sources[type]();
    await source.sql(CREATE);
    await using program = await serve(type, source, endpoint("t", "SELECT * FROM crm.t"));
    expect(await json(program, "/t")).toEqual([{ id: 1, n: 7 }]);
    await source.sql("ALTER TABLE t RENAME COLUMN n TO amount");
    const calls = Array.from({ length: 8 }, (_, index) => json(program, `/t?${index}`));
    expect(await Promise.all(calls)).toEqual(calls.map(() => [{ id: 1, amount: 7 }]));
  });

  needsServer("a column that is there again, and a new table, after a call that failed", async () => {
    const source = await sources[type]();
    await source.sql(CREATE);
    await using program = await serve(type, source, {
      ...endpoint("n", "SELECT n FROM crm.t"),
      // Because of this one, the missing table is no error at startup.
      ...endpoint("create", "CREATE TABLE crm.fresh (id INT)", WRITE),
      ...endpoint("fresh", "SELECT id FROM crm.fresh"),
    });
    expect(await json(program, "/n")).toEqual([{ n: 7 }]);
    expect(await status(program, "/fresh")).toBe(500);
    await source.sql("ALTER TABLE t DROP COLUMN n");
    expect(await status(program, "/n")).toBe(500);
    await source.sql("ALTER TABLE t ADD COLUMN n INT; CREATE TABLE fresh (id INT); INSERT INTO fresh VALUES (3)");
    await until("the column", async () => (await status(program, "/n")) === 200);
    expect(await json(program, "/n")).toEqual([{ n: null }]);
    await until("the table", async () => (await status(program, "/fresh")) === 200);
    expect(await json(program, "/fresh")).toEqual([{ id: 3 }]);
  });

  needsServer("a column of another type", async () => {
    const source = await sources[type]();
    await source.sql(CREATE);
    await using program = await serve(type, source, endpoint("t", "SELECT n FROM crm.t"));
    expect(await json(program, "/t")).toEqual([{ n: 7 }]);
    const change = { postgres: "ALTER COLUMN n TYPE TEXT USING 'seven'", mysql: "MODIFY COLUMN n VARCHAR(10)" }[type];
    await source.sql(`ALTER TABLE t ${change}`);
    // MySQL converts the values, so nothing fails until the project is reloaded.
    if (type === "mysql") await reload(program);
    expect(await json(program, "/t")).toEqual([{ n: type === "mysql" ? "7" : "seven" }]);
  });

  needsServer("a write is repeated as a whole; without a transaction, the next one succeeds", async () => {
    const source = await sources[type]();
    await source.sql(CREATE);
    const copy = "INSERT INTO crm.log SELECT * FROM crm.t";
    const twice = "INSERT INTO crm.log VALUES (9, 9); INSERT INTO crm.log SELECT * FROM crm.t";
    await using program = await serve(type, source, {
      ...endpoint("copy", copy, WRITE),
      ...endpoint("both", twice, WRITE),
      ...endpoint("each", twice, `${WRITE}operation: { transaction: false }\n`),
      ...endpoint("log", "SELECT count(*)::INT AS n FROM crm.log"),
    });
    expect(await add(program, "/copy")).toMatchObject({ rows_affected: 1 });
    await source.sql("ALTER TABLE t RENAME COLUMN n TO amount");
    expect(await add(program, "/both")).toMatchObject({ rows_affected: 2 });
    expect(await json(program, "/log")).toEqual([{ n: 3 }]);
    await source.sql("ALTER TABLE t RENAME COLUMN amount TO n");
    expect(await add(program, "/each")).toHaveProperty("error");
    await until("the next write", async () => JSON.stringify(await add(program, "/copy")).includes("rows_affected"));
  });

  needsServer(
    "after a reload: added columns in rows and documentation, new columns and tables in templates",
    async () => {
      const source = await sources[type]();
      await source.sql(CREATE);
      await using program = await serve(type, source, endpoint("t", "SELECT * FROM crm.t"));
      expect(await json(program, "/t")).toEqual([{ id: 1, n: 7 }]);
      await source.sql("ALTER TABLE t ADD COLUMN extra INT; CREATE TABLE fresh (id INT); INSERT INTO fresh VALUES (3)");
      expect(await json(program, "/t")).toEqual([{ id: 1, n: 7 }]);
      await save(program, {
        ...endpoint("extra", "SELECT extra FROM crm.t"),
        ...endpoint("fresh", "SELECT id FROM crm.fresh"),
      });
      await reload(program);
      expect(await json(program, "/t")).toEqual([{ id: 1, n: 7, extra: null }]);
      expect(await json(program, "/extra")).toEqual([{ extra: null }]);
      expect(await json(program, "/fresh")).toEqual([{ id: 3 }]);
      expect(JSON.stringify(await json(program, "/docs"))).toContain('"extra":{');
      await source.sql("ALTER TABLE t DROP COLUMN extra");
      // On a busy machine, a reload may find a query running: then it says so, and must be repeated.
      let asked = -1;
      await until("the problem", () => {
        const postponed = program.stderr().split("reload again later").length;
        if (asked !== postponed) program.signal("SIGHUP");
        asked = postponed;
        return /^extra\.sql:1:8: .*extra/m.exec(program.stderr());
      });
      await until("the refusal", () => /reload failed/.exec(program.stderr()));
    },
  );

  needsServer("a query that runs for long delays a refresh, but neither reloads nor calls", async () => {
    const source = await sources[type]();
    await source.sql(CREATE);
    await using program = await serve(type, source, {
      ...endpoint("t", "SELECT * FROM crm.t"),
      ...endpoint("long", "SELECT range AS id FROM range(2000000)"),
    });
    expect(await json(program, "/t")).toEqual([{ id: 1, n: 7 }]);
    // Its client does not read yet.
    const long = await fetch(`${await program.url()}/long?format=ndjson`);
    await source.sql("ALTER TABLE t ADD COLUMN extra INT");
    await reload(program);
    expect(program.stderr()).toMatch(
      /^eider\.yaml:3:1: warning: connections: changes to the tables of database servers are not noticed, because queries are running; reload again later$/m,
    );
    expect(await json(program, "/t")).toEqual([{ id: 1, n: 7 }]);
    expect((await long.text()).length).toBeGreaterThan(2_000_000);
    await until("the new column", async () => JSON.stringify(await json(program, "/t")).includes("extra"));
  });

  needsServer("a server that is down during a reload: its tables are known when it is back", async () => {
    const source = await sources[type]();
    await source.sql(CREATE);
    await using program = await serve(type, source, {
      ...endpoint("t", "SELECT * FROM crm.t"),
      ...endpoint("n", "SELECT n FROM crm.t"),
      "local.yaml": "url-path: /local\ntemplate-source: local.sql\nconnection: [local]\n",
      "local.sql": "SELECT id FROM local_rows",
      "drop.yaml": "url-path: /drop\nmethod: POST\ntemplate-source: drop.sql\nconnection: [local]\n",
      "drop.sql": "DROP TABLE local_rows",
    });
    expect(await json(program, "/t")).toEqual([{ id: 1, n: 7 }]);
    await add(program, "/drop");
    const server = await shared[type]();
    await server.kill();
    await reload(program);
    for (const path of ["/t", "/n", "/t", "/n"]) expect(await status(program, path)).toBe(503);
    // Its table is missing, whether a server is down or not.
    expect(await status(program, "/local")).toBe(500);
    await server.restart();
    await until("rows", async () => (await status(program, "/t")) === 200);
    expect(await json(program, "/n")).toEqual([{ n: 7 }]);
  });
});

testNeeding(missingMariaDb, missingExtensions("mysql_scanner"))(
  "a template that stays wrong: DuckDB reads the tables again only every few seconds",
  async () => {
    const source = await sources.mysql();
    await source.sql(CREATE);
    await using program = await serve("mysql", source, endpoint("t", "SELECT n FROM crm.t"));
    expect(await json(program, "/t")).toEqual([{ n: 7 }]);
    await source.sql("ALTER TABLE t DROP COLUMN n; SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = 1");
    const startedAt = performance.now();
    for (let times = 0; times < 30; times++) expect(await status(program, `/t?${times}`)).toBe(500);
    const elapsedMs = performance.now() - startedAt;
    const reads = "command_type = 'Execute' AND argument LIKE '%information_schema.schemata%'";
    const count = Number(await source.sql(`SELECT count(*) FROM mysql.general_log WHERE ${reads}`));
    expect(count).toBeGreaterThanOrEqual(1);
    expect(count).toBeLessThanOrEqual(1 + elapsedMs / 5_000);
  },
);
