import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { until } from "../until.ts";
import { type Files, type Program, start } from "./program.ts";

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";
/** Longer than any test. */
const FOREVER = "SELECT sleep_ms(100000000)";

const STORES = [
  { store: "a file", cache: "cache: { path: ./cache.duckdb }", settings: "", missing: undefined },
  {
    store: "DuckLake",
    cache: "cache: { backend: ducklake, metadata-path: ./lake.ducklake, data-path: ./lake }",
    settings: `, extension_directory: '${missingExtensions("ducklake") === undefined ? extensionDirectory("ducklake") : ""}'`,
    missing: missingExtensions("ducklake"),
  },
] as const;

type Store = (typeof STORES)[number];

/** A table in a file, its rows from a cache and directly, and three kinds of writes. */
const files = ({ cache, settings }: Store, refresh = "SELECT id FROM orders"): Files => ({
  "eider.yaml": `connections: { db: { init: "CREATE TABLE IF NOT EXISTS orders (id INTEGER)" } }
duckdb: { db_path: ./data.duckdb${settings} }
${cache}
`,
  ...at(
    "GET /cached",
    `SELECT count(*)::INTEGER AS n FROM ${TABLE}`,
    "cache: { table: orders, template-file: refresh.sql }\n",
  ),
  "refresh.sql": refresh,
  ...at("GET /direct", "SELECT count(*)::INTEGER AS n FROM orders"),
  ...at("POST /invalidate", "INSERT INTO orders VALUES (1)", "cache: { table: orders, invalidate-on-write: true }\n"),
  ...at("POST /refresh", "INSERT INTO orders VALUES (1)", "cache: { table: orders, refresh-on-write: true }\n"),
  ...at(
    "POST /endless",
    `INSERT INTO orders VALUES (1); ${FOREVER}`,
    "operation: { type: Write, transaction: false }\ncache: { table: orders, invalidate-on-write: true }\n",
  ),
});

function at(target: string, sql: string, yaml = ""): Files {
  const [method, path = ""] = target.split(" ");
  const name = `${method}-${path.slice(1)}`.toLowerCase();
  return {
    [`${name}.yaml`]: `url-path: ${path}\nmethod: ${method}\ntemplate-source: ${name}.sql\nconnection: [db]\nwith-pagination: false\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

async function count(program: Program, path: string): Promise<number> {
  const answer = await fetch(`${await program.url()}${path}`);
  const body = (await answer.json()) as readonly { readonly n: number }[];
  if (answer.status !== 200) throw new Error(JSON.stringify(body));
  return body[0]?.n ?? -1;
}

async function post(program: Program, path: string): Promise<number> {
  return (await fetch(`${await program.url()}${path}`, { method: "POST" })).status;
}

async function kill(program: Program): Promise<void> {
  program.signal("SIGKILL");
  await program.exited;
}

const serving = { args: ["serve", "--port", "0"] } as const;

for (const each of STORES) {
  const run = testNeeding(each.missing);

  run(`${each.store}: a stale mark survives kill -9`, async () => {
    await using program = await start(files(each), serving);
    expect(await count(program, "/cached")).toBe(0);
    expect(await post(program, "/invalidate")).toBe(200);
    await kill(program);
    await using again = await start({}, { ...serving, cwd: program.folder });
    expect(await count(again, "/cached")).toBe(1);
  });

  run(`${each.store}: so does that of a write that was not over`, async () => {
    await using program = await start(files(each), serving);
    expect(await count(program, "/cached")).toBe(0);
    post(program, "/endless").catch(() => {});
    await until("the first statement is committed", async () => (await count(program, "/direct")) === 1);
    await kill(program);
    await using again = await start({}, { ...serving, cwd: program.folder });
    expect(await count(again, "/cached")).toBe(1);
  });

  run(`${each.store}: and a refresh that was running`, async () => {
    await using program = await start(files(each), serving);
    expect(await count(program, "/cached")).toBe(0);
    await kill(program);
    // A pipe without a writer: the refresh waits for one.
    const pipe = join(program.folder, "gate.csv");
    const gated = `SELECT id FROM orders, read_csv('${pipe}', columns = { x: 'INTEGER' }, auto_detect = false, header = true)`;
    await writeFile(join(program.folder, "refresh.sql"), gated);
    await writeFile(pipe, "x\n1\n");
    await using second = await start({}, { ...serving, cwd: program.folder });
    expect(await count(second, "/cached")).toBe(0);
    await rm(pipe);
    await promisify(execFile)("mkfifo", [pipe]);
    post(second, "/refresh").catch(() => {});
    await until("the write is committed", async () => (await count(second, "/direct")) === 1);
    await kill(second);
    await rm(pipe);
    await writeFile(pipe, "x\n1\n");
    await using third = await start({}, { ...serving, cwd: program.folder });
    expect(await count(third, "/cached")).toBe(1);
  });
}
