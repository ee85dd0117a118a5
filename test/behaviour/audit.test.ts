import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Files, serviceFrom, type TestService } from "../service.ts";

const MAIN = `connections: { db: { init: "CREATE TABLE IF NOT EXISTS t AS SELECT range AS i FROM range(5000)" } }
auth:
  type: basic
  users: [{ username: ann, password: ann, roles: [a, b] }]
`;
const FILES: Files = {
  "rows.yaml":
    "url-path: /rows/:kind\ntemplate-source: rows.sql\nconnection: [db]\nrequest:\n  - { field-name: kind, field-in: path }\n  - { field-name: n, field-in: query, validators: [{ type: int }] }\n  - { field-name: password, field-in: query }\n",
  "rows.sql": "SELECT i, '{{{params.kind}}}' AS kind, '{{{params.password}}}' AS p FROM t WHERE i < {{params.n}}",
  "all.yaml":
    "url-path: /all\ntemplate-source: all.sql\nconnection: [db]\nwith-pagination: false\nauth: { enabled: false }\n",
  "all.sql": "FROM t ORDER BY i",
  "add.yaml":
    "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: [db]\nrequest:\n  - { field-name: n, field-in: body, validators: [{ type: int }] }\n",
  "add.sql": "INSERT INTO t SELECT 100000 + range FROM range({{params.n}})",
};
const ANN = { Authorization: `Basic ${Buffer.from("ann:ann").toString("base64")}` };

const lines = (service: TestService): Record<string, unknown>[] =>
  service.audited.map((line) => JSON.parse(line) as Record<string, unknown>);

async function audited(service: TestService, count: number): Promise<Record<string, unknown>[]> {
  await expect.poll(() => service.audited.length).toBe(count);
  return lines(service);
}

test("off by default", async () => {
  await using service = await serviceFrom({ "eider.yaml": MAIN, ...FILES });
  await (await service.get("/all")).text();
  expect(service.audited).toEqual([]);
});

test("one line per call: who, what, with which parameters, how many rows, and how it ended", async () => {
  await using service = await serviceFrom({ "eider.yaml": `${MAIN}audit: { redact: [Password] }\n`, ...FILES });
  const json = { "Content-Type": "application/json" };
  await (await service.get("/rows/x%20y?n=7&password=secret", { ...ANN, "X-Request-Id": "one" })).text();
  await (await service.get("/rows/x?n=many", { ...ANN, "X-Request-Id": "two" })).text();
  await (await service.get("/rows/x?n=1&password=secret", { "X-Request-Id": "three" })).text();
  await (await service.get("/all", { "X-Request-Id": "four" })).text();
  await (
    await service.request("/add", {
      method: "POST",
      headers: { ...ANN, ...json, "X-Request-Id": "five" },
      body: '{"n":3}',
    })
  ).text();
  await service.get("/health");
  await service.get("/nowhere");
  const found = await audited(service, 5);
  const ann = { type: "basic", username: "ann", roles: "a,b" };
  expect(found.map(({ time: _, duration_ms: __, ...rest }) => rest)).toEqual([
    {
      request_id: "one",
      surface: "rest",
      endpoint: "GET /rows/:kind",
      identity: ann,
      address: "127.0.0.1",
      parameters: { kind: "x y", n: "7", password: "[redacted]" },
      rows: 7,
      status: 200,
    },
    {
      request_id: "two",
      surface: "rest",
      endpoint: "GET /rows/:kind",
      identity: ann,
      address: "127.0.0.1",
      parameters: { kind: "x", n: "many" },
      rows: null,
      status: 400,
    },
    // The input of a rejected request is not read.
    {
      request_id: "three",
      surface: "rest",
      endpoint: "GET /rows/:kind",
      identity: null,
      address: "127.0.0.1",
      parameters: {},
      rows: null,
      status: 401,
    },
    {
      request_id: "four",
      surface: "rest",
      endpoint: "GET /all",
      identity: null,
      address: "127.0.0.1",
      parameters: {},
      rows: 5000,
      status: 200,
    },
    {
      request_id: "five",
      surface: "rest",
      endpoint: "POST /add",
      identity: ann,
      address: "127.0.0.1",
      parameters: { n: "3" },
      rows: 3,
      status: 200,
    },
  ]);
  for (const { time, duration_ms: duration } of found) {
    expect(new Date(String(time)).toISOString()).toBe(time);
    expect(duration).toBeGreaterThan(0);
  }
  expect(service.audited.join()).not.toContain("secret");
});

test("answers that are remembered are written down like others", async () => {
  await using service = await serviceFrom({ "eider.yaml": `${MAIN}audit: {}\n`, ...FILES });
  for (const id of ["1", "2", "3", "4", "5"]) {
    await (await service.get("/rows/x?n=4", { ...ANN, "X-Request-Id": id })).text();
  }
  const found = await audited(service, 5);
  expect(found.map(({ request_id, rows, parameters }) => [request_id, rows, parameters])).toEqual(
    ["1", "2", "3", "4", "5"].map((id) => [id, 4, { kind: "x", n: "4" }]),
  );
});

test("into a file beside the main one", async () => {
  await using service = await serviceFrom({
    "eider.yaml": `${MAIN}audit: { sink: file, path: ./audit.log }\n`,
    ...FILES,
  });
  await (await service.get("/all")).text();
  const file = join(service.folder, "audit.log");
  await expect.poll(async () => (await readFile(file, "utf8")).split("\n").length).toBe(2);
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ endpoint: "GET /all", rows: 5000, status: 200 });
});
