import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import { settingsYaml } from "../odd-settings.ts";
import { type ServedFolder, serveFolder } from "../serve-folder.ts";
import { type Files, writeFiles } from "../service.ts";
import { until } from "../until.ts";

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";

/** Rows of a table in a file, with a cache in a file, and writes that invalidate or refresh it. */
const PROJECT: Files = {
  "eider.yaml": `connections: { db: { init: "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, who VARCHAR)" } }
duckdb: { db_path: ./data.duckdb, ${settingsYaml()} }
cache: { path: ./cache.duckdb }
`,
  ...at("GET /orders", `SELECT * FROM ${TABLE}`, "cache: { table: orders, template-file: refresh.sql }\n"),
  "refresh.sql": "SELECT id FROM orders ORDER BY id ASC",
  ...at("POST /invalidate", "INSERT INTO orders VALUES ({{params.id}}, 'x')", onWrite("invalidate")),
  ...at("POST /refresh", "INSERT INTO orders VALUES ({{params.id}}, 'x')", onWrite("refresh")),
};

function onWrite(action: string): string {
  return `request: [{ field-name: id, field-in: body, validators: [{ type: int }] }]
cache: { table: orders, ${action}-on-write: true }\n`;
}

function at(target: string, sql: string, yaml = ""): Files {
  const [method, path = ""] = target.split(" ");
  const name = `${method}-${path.slice(1)}`.toLowerCase();
  return {
    [`${name}.yaml`]: `url-path: ${path}\nmethod: ${method}\ntemplate-source: ${name}.sql\nconnection: [db]\nwith-pagination: false\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

interface Folder extends AsyncDisposable {
  readonly path: string;
  write(files: Files): Promise<void>;
  /** Serves it until `work` is done. */
  serve<T>(work: (served: ServedFolder) => Promise<T>): Promise<T>;
}

async function folderOf(files: Files): Promise<Folder> {
  const path = await writeFiles(files);
  return {
    path,
    async write(more) {
      for (const [name, text] of Object.entries(more)) await writeFile(join(path, name), text);
    },
    async serve(work) {
      await using served = await serveFolder(path);
      return await work(served);
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** The state of the cache, and the rows. */
async function read(
  { url }: ServedFolder,
  path = "/orders",
): Promise<readonly [status: number, cache: string | null, rows: unknown]> {
  const answer = await fetch(url + path);
  return [answer.status, answer.headers.get("x-cache"), await answer.json()];
}

async function post({ url }: ServedFolder, path: string, id: number): Promise<number> {
  const headers = { "content-type": "application/json" };
  return (await fetch(url + path, { method: "POST", headers, body: JSON.stringify({ id }) })).status;
}

const ids = (...numbers: readonly number[]): readonly unknown[] => numbers.map((id) => ({ id }));

describe("a write before a restart", () => {
  test("a cache that it made stale is refreshed by the first read after it, and only by that one", async () => {
    await using folder = await folderOf(PROJECT);
    await folder.serve(async (served) => {
      expect(await read(served)).toEqual([200, "miss", []]);
      expect(await post(served, "/invalidate", 1)).toBe(200);
    });
    await folder.serve(async (served) => {
      expect(await read(served)).toEqual([200, "miss", ids(1)]);
      expect(await read(served)).toEqual([200, "hit", ids(1)]);
    });
    await folder.serve(async (served) => expect(await read(served)).toEqual([200, "hit", ids(1)]));
  });

  test.each(["/invalidate", "/refresh"])("%s that failed leaves the cache as it was", async (path) => {
    await using folder = await folderOf(PROJECT);
    await folder.serve(async (served) => {
      expect(await post(served, path, 1)).toBe(200);
      expect((await read(served))[2]).toEqual(ids(1));
      expect(await post(served, path, 1)).toBe(500);
      expect(await read(served)).toEqual([200, "hit", ids(1)]);
    });
    await folder.serve(async (served) => expect(await read(served)).toEqual([200, "hit", ids(1)]));
  });

  test("a refresh that it made leaves nothing to do", async () => {
    await using folder = await folderOf(PROJECT);
    await folder.serve(async (served) => {
      await read(served);
      for (const id of [1, 2, 3]) expect(await post(served, "/refresh", id)).toBe(200);
    });
    await folder.serve(async (served) => expect(await read(served)).toEqual([200, "hit", ids(1, 2, 3)]));
  });

  test("a refresh that failed is made up for at the start, before any read", async () => {
    await using folder = await folderOf({ ...PROJECT, "gate.csv": "open\n1\n" });
    const gate = join(folder.path, "gate.csv");
    await folder.write({ "refresh.sql": `SELECT id FROM orders, read_csv('${gate}') ORDER BY id ASC` });
    await folder.serve(async (served) => {
      await read(served);
      await rm(gate);
      expect(await post(served, "/refresh", 1)).toBe(200);
      expect(await read(served)).toEqual([200, "stale", []]);
    });
    await folder.write({ "gate.csv": "open\n1\n" });
    await folder.serve(async (served) => {
      await until("the refresh", () => served.service.caches.statuses()[0]?.rows === 1);
      expect(await read(served)).toEqual([200, "hit", ids(1)]);
    });
  });
});

describe("another definition at a start", () => {
  test.each([
    ["a query with one more column", "SELECT id, who FROM orders ORDER BY id ASC", ""],
    ["a cursor", "SELECT id, who FROM orders", ", cursor: { column: id }"],
    ["a key", "SELECT id, who FROM orders", ", cursor: { column: id }, primary-key: [id]"],
  ])("%s is a new fill", async (_, sql, yaml) => {
    await using folder = await folderOf(PROJECT);
    await folder.serve(async (served) => {
      await post(served, "/invalidate", 1);
      expect((await read(served))[2]).toEqual(ids(1));
    });
    const cache = `cache: { table: orders, template-file: refresh.sql${yaml} }\n`;
    await folder.write({
      "refresh.sql": sql,
      ...at("GET /orders", `SELECT id, who FROM ${TABLE}`, cache),
    });
    await folder.serve(async (served) => {
      expect(await read(served)).toEqual([200, "miss", [{ id: 1, who: "x" }]]);
      expect((await read(served))[1]).toBe("hit");
    });
    await folder.serve(async (served) => expect((await read(served))[1]).toBe("hit"));
  });

  test("so is a source with another column", async () => {
    await using folder = await folderOf({ ...PROJECT, "rows.csv": "a\n1\n" });
    await folder.write({ "refresh.sql": `SELECT * FROM read_csv('${folder.path}/rows.csv')` });
    await folder.serve(async (served) => expect((await read(served))[2]).toEqual([{ a: 1 }]));
    await folder.write({ "rows.csv": "a\n2\n" });
    await folder.serve(async (served) => expect(await read(served)).toEqual([200, "hit", [{ a: 1 }]]));
    await folder.write({ "rows.csv": "a,b\n2,3\n" });
    await folder.serve(async (served) => expect(await read(served)).toEqual([200, "miss", [{ a: 2, b: 3 }]]));
  });
});

test("with the source down at a start, the snapshot is served; once it is back, new rows are", async () => {
  await using folder = await folderOf({
    "eider.yaml":
      "connections: { src: { type: duckdb, path: ./src.duckdb, read-only: true } }\ncache: { path: ./cache.duckdb }\n",
    "t.yaml":
      "url-path: /orders\ntemplate-source: t.sql\nconnection: [src]\nwith-pagination: false\ncache: { table: orders, template-file: refresh.sql, schedule: 1s }\n",
    "t.sql": `SELECT * FROM ${TABLE}`,
    "refresh.sql": "SELECT * FROM src.orders",
    "joined.yaml":
      "url-path: /joined\ntemplate-source: joined.sql\nconnection: [src]\nwith-pagination: false\ncache: { table: orders }\n",
    "joined.sql": `SELECT c.id FROM ${TABLE} c JOIN src.orders s ON s.id = c.id`,
  });
  const source = join(folder.path, "src.duckdb");
  await sqlIn(source, "CREATE TABLE orders AS SELECT 1 AS id");
  await folder.serve(async (served) => expect((await read(served))[2]).toEqual(ids(1)));
  await rename(source, `${source}.away`);
  await folder.serve(async (served) => {
    expect(served.problems.join()).toMatch(/connection 'src' cannot be reached/);
    const [status, , rows] = await read(served);
    expect([status, rows]).toEqual([200, ids(1)]);
    expect((await read(served, "/joined"))[0]).toBe(503);
    await sqlIn(`${source}.away`, "INSERT INTO orders VALUES (2)");
    await rename(`${source}.away`, source);
    await until("the new row", async () => ((await read(served))[2] as unknown[]).length === 2);
    expect((await read(served, "/joined"))[2]).toEqual(ids(1, 2));
  });
});

async function sqlIn(path: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

describe("something else at cache.path", () => {
  const place = (file: string): Files => ({
    ...PROJECT,
    "eider.yaml": (PROJECT["eider.yaml"] ?? "").replace("./cache.duckdb", file),
  });

  test("a folder", async () => {
    await using folder = await folderOf(place("./things"));
    await mkdir(join(folder.path, "things"));
    await writeFile(join(folder.path, "things/a"), "a");
    const before = await readdir(folder.path);
    await expect(folder.serve(async () => {})).rejects.toThrow(
      /^eider\.yaml:3:10: cache\.path: is a folder; use a file in it, such as cache\.duckdb$/m,
    );
    expect((await readdir(folder.path)).filter((name) => !name.startsWith("data."))).toEqual(before);
    expect(await readdir(join(folder.path, "things"))).toEqual(["a"]);
  });

  test.each([
    ["CREATE TABLE customers AS SELECT 1 AS id", "main.customers"],
    ["CREATE SCHEMA audit; CREATE TABLE audit.snapshots AS SELECT 1 AS id", "audit.snapshots"],
    ["CREATE VIEW v AS SELECT 1 AS id", "main.v"],
  ])("a database with %s", async (sql, table) => {
    await using folder = await folderOf(place("./mine.duckdb"));
    const path = join(folder.path, "mine.duckdb");
    await sqlIn(path, sql);
    const bytes = await readFile(path);
    await expect(folder.serve(async () => {})).rejects.toThrow(
      `eider.yaml:3:10: cache.path: is a database with other tables (${table}), not a cache; use another file`,
    );
    expect((await readdir(folder.path)).filter((name) => name.startsWith("mine"))).toEqual(["mine.duckdb"]);
    expect(bytes.equals(await readFile(path))).toBe(true);
  });

  test("the database of the project", async () => {
    await using folder = await folderOf(place("./data.duckdb"));
    await expect(folder.serve(async () => {})).rejects.toThrow(
      "eider.yaml:3:10: cache.path: is already in use, by duckdb.db_path or a connection; use another file",
    );
  });

  test("a database of SQLite", async () => {
    await using folder = await folderOf({ ...place("./mine.db"), "mine.db": `SQLite format 3\0${"x".repeat(84)}` });
    await expect(folder.serve(async () => {})).rejects.toThrow(
      "eider.yaml:3:10: cache.path: is an SQLite database, not a cache; use another file",
    );
    expect((await readdir(folder.path)).filter((name) => name.startsWith("mine"))).toEqual(["mine.db"]);
  });

  test("a database that is no lake, at metadata-path", async () => {
    const lake = "cache: { backend: ducklake, metadata-path: ./mine.duckdb, data-path: ./lake }";
    const main = (PROJECT["eider.yaml"] ?? "").replace("cache: { path: ./cache.duckdb }", lake);
    await using folder = await folderOf({ ...PROJECT, "eider.yaml": main });
    await sqlIn(join(folder.path, "mine.duckdb"), "CREATE TABLE customers AS SELECT 1 AS id");
    await expect(folder.serve(async () => {})).rejects.toThrow(
      "cache.metadata-path: is a database with other tables (main.customers), not a cache; use another file",
    );
  });

  test("an empty database becomes the cache", async () => {
    await using folder = await folderOf(place("./mine.duckdb"));
    await sqlIn(join(folder.path, "mine.duckdb"), "SELECT 1");
    await folder.serve(async (served) => expect((await read(served))[0]).toBe(200));
  });
});
