import { expect, test } from "vitest";
import { folderWith, start } from "../process/program.ts";
import { until } from "../until.ts";
import { ask } from "./crash-load.ts";

const CLIENTS = 8;

test("kill -9 while inserts are committed in groups: what was acknowledged is there, once", {
  timeout: 240_000,
}, async () => {
  await using data = await folderWith({});
  const project = {
    "eider.yaml": `http-port: 0\nduckdb: { db_path: ${data.path}/data.duckdb, checkpoint_threshold: 64KB }\nconnections:\n  db: { init: "CREATE TABLE IF NOT EXISTS t (id INTEGER, begun TIMESTAMPTZ DEFAULT now())" }\n`,
    "post.yaml":
      "url-path: /t\nmethod: POST\ntemplate-source: post.sql\nconnection: db\nrequest:\n  - { field-name: id, field-in: body, required: true, validators: [{ type: int }] }\n",
    "post.sql": "INSERT INTO t (id) VALUES ({{params.id}})",
    "get.yaml": "url-path: /t\ntemplate-source: get.sql\nconnection: db\nwith-pagination: false\n",
    "get.sql": "SELECT id, begun FROM t",
  };
  const acknowledged = new Set<number>();
  let next = 0;
  for (const round of [1, 2, 3]) {
    await using program = await start(project);
    const url = await program.url();
    const clients = Array.from({ length: CLIENTS }, async () => {
      for (;;) {
        const id = next++;
        const headers = { "Content-Type": "application/json" };
        const answer = await ask(`${url}/t`, { method: "POST", headers, body: JSON.stringify({ id }) });
        if (answer === undefined) return;
        expect(answer).toEqual({ status: 200, text: '{"rows_affected":1}' });
        acknowledged.add(id);
      }
    });
    await until("enough is written", () => acknowledged.size > round * 150);
    program.signal("SIGKILL");
    await Promise.all(clients);
    await program.exited;
  }
  await using program = await start(project);
  const answer = await ask(`${await program.url()}/t`);
  const rows: { id: number; begun: string }[] = JSON.parse(answer?.text ?? "");
  const ids = new Set(rows.map(({ id }) => id));
  expect(ids.size).toBe(rows.length);
  expect([...acknowledged].filter((id) => !ids.has(id))).toEqual([]);
  // Rows of one transaction have the same time. Otherwise there were no groups, and it has shown nothing.
  expect(new Set(rows.map(({ begun }) => begun)).size).toBeLessThan(rows.length - 20);
});
