import { expect, test } from "vitest";
import { folderWith, start } from "../process/program.ts";
import { openSocket } from "../socket.ts";
import { crashAgain } from "./crash.ts";

/** `npm run test:crash` asks for a hundred. */
const KILLS = Number(process.env["EIDER_CRASH_KILLS"] ?? 4);

test(`kill -9, ${KILLS} times, while it writes, reads, refreshes and reloads: nothing is lost, doubled or left behind`, {
  timeout: 240_000 + KILLS * 15_000,
}, async () => {
  const report = await crashAgain(KILLS);
  if (KILLS > 4) console.log(report);
  expect(report.wrong).toEqual([]);
  expect(report.kills).toBe(KILLS);
  // Else it has shown nothing.
  expect(report.acknowledged).toBeGreaterThan(KILLS * 5);
  for (const count of [report.reads, report.refreshes, report.reloads]) expect(count).toBeGreaterThan(KILLS / 2);
  expect(report.repeated).toBeGreaterThan(0);
});

test("SIGTERM: after the grace a write is rolled back, and its client is told", async () => {
  const project = (data: string): Record<string, string> => ({
    "eider.yaml": `http-port: 0\nduckdb: { db_path: ${data}/data.duckdb }\nlimits: { shutdown-grace: 1s }\nconnections:\n  memory: { init: "CREATE TABLE IF NOT EXISTS t (id HUGEINT)" }\n`,
    "stuck.yaml": "url-path: /stuck\nmethod: POST\ntemplate-source: stuck.sql\nconnection: memory\n",
    "stuck.sql":
      "INSERT INTO t VALUES (1); INSERT INTO t SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b",
    "post.yaml": "url-path: /t\nmethod: POST\ntemplate-source: post.sql\nconnection: memory\n",
    "post.sql": "INSERT INTO t VALUES (2)",
    "get.yaml": "url-path: /t\ntemplate-source: get.sql\nconnection: memory\nwith-pagination: false\n",
    "get.sql": "SELECT id FROM t",
  });
  await using data = await folderWith({});
  {
    await using program = await start(project(data.path));
    const url = await program.url();
    using socket = await openSocket(url);
    socket.send("POST /stuck HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    expect((await fetch(`${url}/t`, { method: "POST" })).status).toBe(200);
    program.signal("SIGTERM");
    const [answer] = await socket.take(1);
    expect([answer?.status, JSON.parse(answer?.body ?? "")]).toEqual([
      503,
      { error: "Service Unavailable: the service is stopping" },
    ]);
    expect(await program.exited).toEqual({ code: 0, signal: null });
  }
  await using again = await start(project(data.path));
  expect(await (await fetch(`${await again.url()}/t`)).json()).toEqual([{ id: 2 }]);
});
