import { expect, test } from "vitest";
import { until } from "../until.ts";
import { type Files, start } from "./program.ts";

function project(init: string, limits: string): Files {
  return {
    "eider.yaml": `http-port: 0
limits: { ${limits} }
connections:
  memory: {}
  crm: { init: "${init}", connect-timeout: 50ms }
`,
    "t.yaml": "url-path: /t\ntemplate-source: t.sql\nconnection: [crm]\nwith-pagination: false\n",
    "t.sql": "SELECT id FROM t ORDER BY id",
    "add.yaml": "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: [crm]\n",
    "add.sql": "INSERT INTO t VALUES (3)",
    "local.yaml": "url-path: /local\ntemplate-source: local.sql\nconnection: [memory]\nwith-pagination: false\n",
    "local.sql": "SELECT 1 AS a",
  };
}

const STATE = /running its init statement, for \d+ s/;

test("an init that takes long is reported as running, and calls that have waited for it get 503", async () => {
  await using program = await start(project("SELECT sleep_ms(100000000)", "query-timeout: 100ms"));
  const url = await program.url();
  expect(program.stderr()).toMatch(
    /connection 'crm' is still running its init statement, for \d+ s; calls to its endpoints wait for it/,
  );
  for (const answer of [await fetch(`${url}/t`), await fetch(`${url}/add`, { method: "POST" })]) {
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    const error = expect.stringMatching(/^Service Unavailable: connection 'crm' is still running .*, for \d+ s$/);
    expect(await answer.json()).toEqual({ error });
  }
  const ready = await until("a running init", async () => {
    const body = await (await fetch(`${url}/health/ready`)).text();
    return body.includes("reasons") && (JSON.parse(body) as unknown);
  });
  const reasons = { crm: expect.stringMatching(STATE) };
  expect(ready).toEqual({ status: "degraded", connections: ["crm"], reasons });
  await until("the log", () =>
    /"connection 'crm' is still running its init statement, for \d\d+ s"/.test(program.stderr()),
  );
  expect(program.stderr()).not.toContain("cannot be reached");
});

test("a call waits for a running init as long as its time limit allows", async () => {
  const init = "SELECT sleep_ms(1500); CREATE TABLE t AS SELECT 1 AS id";
  await using program = await start(project(init, "query-timeout: 1h"));
  const url = await program.url();
  expect(await (await fetch(`${url}/local`)).json()).toEqual([{ a: 1 }]);
  expect(await (await fetch(`${url}/t`)).json()).toEqual([{ id: 1 }]);
  expect(await (await fetch(`${url}/health/ready`)).json()).toEqual({ status: "ok" });
  expect(program.stderr()).not.toContain("cannot be reached");
});
