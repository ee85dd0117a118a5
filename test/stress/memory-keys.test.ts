import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith, start } from "../process/program.ts";

const HEAP_MIB = 64;
/** Together about twice the heap. */
const WRITES = 125;
const body = (id: number): string => JSON.stringify({ id, text: `private ${"x".repeat(1_000_000)}` });

test.each([
  ["memory", ""],
  ["a file", "db_path: ./data.duckdb, "],
])("writes with distinct keys and large bodies, kept in %s: nothing of the bodies stays", async (_, path) => {
  await using folder = await folderWith({
    "eider.yaml": `http-port: 0\nduckdb: { ${path}threads: 2 }\nconnections: { db: { init: "CREATE TABLE t (id INTEGER, n INTEGER)" } }\n`,
    "add.yaml":
      "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: db\nrequest:\n  - { field-name: id, field-in: body, validators: [{ type: int }] }\n  - { field-name: text, field-in: body }\n",
    "add.sql": "INSERT INTO t SELECT {{params.id}}, length('{{{params.text}}}')",
  });
  await using program = await start(
    {},
    { cwd: folder.path, env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } },
  );
  const url = await program.url();
  const send = async (id: number): Promise<unknown> => {
    const headers = { "Content-Type": "application/json", "Idempotency-Key": `key ${id}` };
    const response = await fetch(`${url}/add`, { method: "POST", headers, body: body(id) });
    return [response.status, await response.text()];
  };
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < WRITES) expect(await send(next++)).toEqual([200, '{"rows_affected":1}']);
  };
  await Promise.all([client(), client(), client(), client()]);
  // Keys are not what had to go.
  expect(await send(0)).toEqual([200, '{"rows_affected":1}']);
  program.signal("SIGTERM");
  expect(await program.exited).toEqual({ code: 0, signal: null });
  if (path === "") return;
  const file = await readFile(join(folder.path, "data.duckdb"));
  expect(file.includes("private xxx")).toBe(false);
  expect(file.length).toBeLessThan(8 * 1024 * 1024);
});
