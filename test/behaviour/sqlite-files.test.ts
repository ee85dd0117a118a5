import { join } from "node:path";
import duckdb from "@duckdb/node-bindings";
import { describe, expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { folderWith } from "../process/program.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";

const needsSqlite = testNeeding(missingExtensions("sqlite_scanner"));

/** A project over one SQLite file, in the connection `store`. */
function project(file: string, attach = "TYPE sqlite"): Files {
  const init = `LOAD sqlite; ATTACH IF NOT EXISTS '${file}' AS store (${attach}); CREATE TABLE IF NOT EXISTS store.t (id INTEGER);
    CREATE OR REPLACE VIEW counted AS FROM sqlite_query('store', 'SELECT count(*) AS n FROM t')`;
  return {
    "eider.yaml":
      `duckdb: { extension_directory: '${extensionDirectory("sqlite_scanner")}', allow_unsigned_extensions: true }\n` +
      `connections: { store: { init: ${JSON.stringify(init)} } }\n`,
    "t.yaml": "url-path: /t\ntemplate-source: t.sql\nconnection: store\n",
    "t.sql": "SELECT count(*) AS n FROM store.t",
    "through.yaml": "url-path: /through\ntemplate-source: through.sql\nconnection: store\n",
    "through.sql": "SELECT n FROM sqlite_query('store', 'SELECT count(*) AS n FROM t')",
    "view.yaml": "url-path: /view\ntemplate-source: view.sql\nconnection: store\n",
    "view.sql": "SELECT n FROM counted",
    "all.yaml": "url-path: /all\ntemplate-source: all.sql\nconnection: store\nwith-pagination: false\n",
    "all.sql": "SELECT t.id, range FROM store.t, range(2000000)",
    "add.yaml":
      "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: store\nrequest:\n" +
      "  - { field-name: id, field-in: body, required: true, validators: [{ type: int }] }\n",
    "add.sql": "INSERT INTO store.t SELECT {{params.id}} WHERE (SELECT count(*) FROM store.t) < 1000",
  };
}

async function add(service: TestService, id: number): Promise<number> {
  const headers = { "Content-Type": "application/json" };
  return (await service.request("/add", { method: "POST", headers, body: JSON.stringify({ id }) })).status;
}

/** Another program that reads the file, until it is disposed of. */
async function otherReader(file: string): Promise<AsyncDisposable> {
  const database = await duckdb.open(":memory:");
  const connection = await duckdb.connect(database);
  await duckdb.query(connection, `SET extension_directory = '${extensionDirectory("sqlite_scanner")}'; LOAD sqlite`);
  await duckdb.query(connection, `ATTACH '${file}' AS other (TYPE sqlite)`);
  await duckdb.query(connection, "BEGIN");
  await duckdb.query(connection, "SELECT * FROM other.t");
  return {
    async [Symbol.asyncDispose]() {
      await duckdb.query(connection, "ROLLBACK");
      duckdb.disconnect_sync(connection);
      duckdb.close_sync(database);
    },
  };
}

describe("an SQLite file", () => {
  needsSqlite("is read and written by many at once", async () => {
    await using data = await folderWith({});
    await using service = await serviceFrom(project(join(data.path, "store.sqlite")));
    const rounds = Array.from({ length: 8 }, async (_, client) => {
      const statuses: number[] = [];
      for (let round = 0; round < 40; round++) {
        statuses.push(client < 6 ? (await service.get("/t")).status : await add(service, round));
      }
      return statuses;
    });
    expect(new Set((await Promise.all(rounds)).flat())).toEqual(new Set([200]));
    expect((await service.json("/t")) as unknown).toMatchObject({ data: [{ n: 80 }] });
  });

  needsSqlite("is read with SQLite's own SQL, again and again", async () => {
    await using data = await folderWith({});
    await using service = await serviceFrom(project(join(data.path, "store.sqlite")));
    expect(await add(service, 1)).toBe(200);
    const clients = Array.from({ length: 4 }, async () => {
      for (let round = 0; round < 100; round++) {
        expect(await service.json("/through")).toMatchObject({ data: [{ n: "1" }] });
        expect(await service.json("/view")).toMatchObject({ data: [{ n: "1" }] });
      }
    });
    await Promise.all(clients);
  });

  needsSqlite("in WAL mode is written while a client reads slowly, otherwise afterwards", async () => {
    for (const [mode, isWrittenMeanwhile] of [
      ["wal", true],
      ["delete", false],
    ] as const) {
      await using data = await folderWith({});
      const file = join(data.path, "store.sqlite");
      const attach = `TYPE sqlite, JOURNAL_MODE ${mode}`;
      await using service = await serviceFrom(project(file, attach));
      expect(await add(service, 1)).toBe(200);
      // The mode of a file is known once it has been written.
      await using again = await serviceFrom(project(file, attach));
      const response = await again.get("/all");
      const chunks = response.body?.getReader();
      await chunks?.read();
      let isDone = false;
      const written = add(again, 2).then((status) => {
        isDone = true;
        return status;
      });
      if (isWrittenMeanwhile) expect(await written).toBe(200);
      expect(isDone).toBe(isWrittenMeanwhile);
      await chunks?.cancel();
      expect(await written).toBe(200);
    }
  });

  needsSqlite("is usable again after another program has kept a write from being committed", async () => {
    await using data = await folderWith({});
    const file = join(data.path, "store.sqlite");
    // Without the 5 seconds for which SQLite waits for each lock.
    await using service = await serviceFrom(project(file, "TYPE sqlite, BUSY_TIMEOUT 0"));
    expect(await add(service, 1)).toBe(200);
    {
      await using _reader = await otherReader(file);
      expect(await add(service, 2)).toBe(409);
      expect((await service.get("/t")).status).toBe(200);
    }
    expect(await add(service, 3)).toBe(200);
    expect(await service.json("/t")).toMatchObject({ data: [{ n: 2 }] });
  });
});
