import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Files, folderWith, start } from "../process/program.ts";

/** More of them by hand, when something about writes or marks has changed. */
const KILLS = Number(process.env["EIDER_CRASH_KILLS"] ?? 6);
const LONGEST_MS = 400;

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";

/** A write of each kind, and the rows of their table from a cache and directly. */
const FILES: Files = {
  "eider.yaml": `connections: { db: { init: "CREATE TABLE IF NOT EXISTS orders (id INTEGER)" } }
duckdb: { db_path: ./data.duckdb }
cache: { path: ./cache.duckdb }
`,
  ...at(
    "GET /cached",
    `SELECT count(*)::INTEGER AS n FROM ${TABLE}`,
    "cache: { table: orders, template-file: refresh.sql }\n",
  ),
  "refresh.sql": "SELECT id FROM orders",
  ...at("GET /direct", "SELECT count(*)::INTEGER AS n FROM orders"),
  ...at("POST /invalidate", "INSERT INTO orders VALUES (1)", "cache: { table: orders, invalidate-on-write: true }\n"),
  ...at("POST /refresh", "INSERT INTO orders VALUES (1)", "cache: { table: orders, refresh-on-write: true }\n"),
};

function at(target: string, sql: string, yaml = ""): Files {
  const [method, path = ""] = target.split(" ");
  const name = `${method}-${path.slice(1)}`.toLowerCase();
  return {
    [`${name}.yaml`]: `url-path: ${path}\nmethod: ${method}\ntemplate-source: ${name}.sql\nconnection: [db]\nwith-pagination: false\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

async function count(url: string): Promise<number> {
  const body = (await (await fetch(url)).json()) as readonly { readonly n: number }[];
  return body[0]?.n ?? -1;
}

test(`after each of ${KILLS} kills at any time, no row that was written is missing from the cache`, async () => {
  await using folder = await folderWith(FILES);
  for (let round = 1; round <= KILLS; round++) {
    await using program = await start({}, { args: ["serve", "--port", "0"], cwd: folder.path });
    const url = await program.url();
    expect([round, await count(`${url}/cached`)]).toEqual([round, await count(`${url}/direct`)]);
    let isRunning = true;
    /** Calls one endpoint after the other, until the program is gone. */
    const client = async (paths: readonly string[]): Promise<void> => {
      for (let turn = 0; isRunning; turn++) {
        const path = paths[turn % paths.length] ?? "";
        const method = path === "/cached" ? "GET" : "POST";
        const done = await fetch(url + path, { method })
          .then((answer) => answer.arrayBuffer())
          .catch(() => undefined);
        if (done === undefined) return;
      }
    };
    const clients = [client(["/invalidate"]), client(["/refresh", "/invalidate"]), client(["/cached"])];
    await wait(Math.random() * LONGEST_MS);
    program.signal("SIGKILL");
    await program.exited;
    isRunning = false;
    await Promise.all(clients);
  }
});
