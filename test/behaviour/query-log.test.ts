import { expect, test } from "vitest";
import type { ServiceEvent } from "../../src/events.ts";
import { openLogger } from "../../src/log/logger.ts";
import { sendRequest } from "../ask.ts";
import { endpoint, serviceFrom, type TestService } from "../service.ts";
import { until } from "../until.ts";

type Told<Kind extends ServiceEvent["kind"]> = Extract<ServiceEvent, { kind: Kind }>;

const isA =
  <Kind extends ServiceEvent["kind"]>(kind: Kind) =>
  (event: ServiceEvent): event is Told<Kind> =>
    event.kind === kind;

/** The first event of a kind; calls are told when their answer has gone out. */
const first = <Kind extends ServiceEvent["kind"]>({ events }: TestService, kind: Kind): Promise<Told<Kind>> =>
  until(kind, () => events.find(isA(kind)));

const NAME =
  "request:\n  - { field-name: name, field-in: query }\n  - { field-name: n, field-in: query, validators: [{ type: int }] }\n";
const SQL =
  "SELECT '{{{params.name}}}' AS name, range AS i FROM range({{params.n}}) ORDER BY 1{{#params.n}} LIMIT {{params.n}}{{/params.n}}";

test("a slow call is told with its phases and its SQL, without its values", async () => {
  await using service = await serviceFrom({
    "eider.yaml": "connections: { memory: {} }\nlog: { slow-query: 0ms }\n",
    ...endpoint(SQL, NAME),
  });
  await (await service.get("/x?name=hidden&n=77", { "X-Request-Id": "slow-one" })).text();
  const told = await first(service, "slow-call");
  expect(told).toMatchObject({ requestId: "slow-one", endpoint: "GET /x" });
  expect(Object.keys(told.phases)).toEqual(["validate", "prepare", "render", "queue", "first_row", "stream"]);
  expect(told.sql).toBe("SELECT $1 AS name, range AS i FROM range($2) ORDER BY 1 LIMIT $2");
  const lines: string[] = [];
  const now = () => new Date(0);
  openLogger({ level: "warn", format: "json", write: (line) => lines.push(line), now }).report(told);
  openLogger({ level: "warn", format: "pretty", write: (line) => lines.push(line), now }).report(told);
  expect(lines).toHaveLength(2);
  expect(lines.join("")).not.toMatch(/hidden|77/);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "warn", endpoint: "GET /x", sql: told.sql });
});

test("a call within the limit is not told, nor is one without a limit", async () => {
  await using service = await serviceFrom({
    "eider.yaml": "connections: { memory: {} }\nlog: { slow-query: 1h }\n",
    ...endpoint("SELECT 1 AS a"),
  });
  await using other = await serviceFrom(endpoint("SELECT 1 AS a"));
  for (const one of [service, other]) {
    await (await one.get("/x")).text();
    await (await one.get("/x")).text();
    expect(one.events.filter(({ kind }) => kind === "slow-call" || kind === "query-ran")).toEqual([]);
  }
});

test("queries of a connection that is logged; values only where that is asked for; never a secret", async () => {
  const files = (parameters: boolean) => ({
    "eider.yaml": `template: { environment-whitelist: [TOKEN] }
connections:
  memory: { log-queries: true, log-parameters: ${parameters}, properties: { token: "\${TOKEN}" } }
  silent: {}
`,
    ...endpoint(
      `${SQL} -- {{conn.token}}\n`.replace("AS name", "AS name, '{{{conn.token}}}' AS t, '{{env.TOKEN}}' AS e"),
      NAME,
    ),
    "y.yaml": "url-path: /y\ntemplate-source: y.sql\nconnection: [silent]\n",
    "y.sql": "SELECT 1 AS a",
  });
  const env = { TOKEN: "it's a secret" };
  await using service = await serviceFrom(files(true), env);
  await using discreet = await serviceFrom(files(false), env);
  for (const one of [service, discreet]) {
    await (await one.get("/y")).text();
    await (await one.get("/x?name=shown&n=3")).text();
  }
  const told = await first(service, "query-ran");
  expect(told).toMatchObject({ endpoint: "GET /x", connections: ["memory"], status: 200, rows: 3 });
  expect(told.parameters).toEqual(["shown", "3"]);
  const without = await first(discreet, "query-ran");
  expect(without.parameters).toBeUndefined();
  expect(without.sql).toMatch(/^SELECT \$1 AS name/);
  expect(JSON.stringify([told.sql, without])).not.toMatch(/secret|shown/);
});

test("a write is told as well, and a refusal runs nothing", async () => {
  await using service = await serviceFrom({
    "eider.yaml": "connections: { memory: { log-queries: true, init: 'CREATE TABLE t (i INTEGER)' } }\n",
    ...endpoint(
      "INSERT INTO t VALUES ({{params.i}})",
      "method: POST\nrequest:\n  - { field-name: i, field-in: body, validators: [{ type: int }] }\n",
    ),
  });
  const post = (body: string) =>
    service.request("/x", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  expect((await post('{"i":"no"}')).status).toBe(400);
  expect((await post('{"i":4}')).status).toBe(200);
  expect(await first(service, "query-ran")).toMatchObject({ sql: "INSERT INTO t VALUES ($1)", rows: 1, status: 200 });
  expect(service.events.filter(isA("query-ran"))).toHaveLength(1);
});

test("Server-Timing tells the phases where somebody looks for something, and nowhere else", async () => {
  await using plain = await serviceFrom(endpoint("SELECT 1 AS a"));
  expect((await plain.get("/x")).headers.get("server-timing")).toBeNull();
  await using debugged = await serviceFrom({
    "eider.yaml": "connections: { memory: { init: 'CREATE TABLE t (i INTEGER)' } }\nlog: { level: debug }\n",
    ...endpoint("SELECT 1 AS a"),
    "add.yaml": "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: [memory]\n",
    "add.sql": "INSERT INTO t VALUES (1)",
  });
  const phase = String.raw`\w+;dur=\d+\.\d`;
  const times = new RegExp(`^validate;dur=\\d+\\.\\d, (?:${phase}, )*first_row;dur=\\d+\\.\\d, total;dur=\\d+\\.\\d$`);
  for (const path of ["/x", "/x?format=csv", "/x?format=parquet"]) {
    expect((await debugged.get(path)).headers.get("server-timing")).toMatch(times);
  }
  const written = await debugged.request("/add", { method: "POST", headers: { "Content-Type": "application/json" } });
  expect(written.headers.get("server-timing")).toMatch(times);
  expect((await sendRequest(`${debugged.url}/health`)).headers["server-timing"]).toBeUndefined();
});
