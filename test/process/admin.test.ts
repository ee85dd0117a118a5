import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readMetrics, scrape } from "../prometheus.ts";
import { openSocket } from "../socket.ts";
import { openTraceCollector } from "../trace-collector.ts";
import { until } from "../until.ts";
import { type Files, type Program, runHere, start, startHere } from "./program.ts";

const ENDLESS = "SELECT sleep_ms(100000000) AS slept";

const project = (yaml = "", grace = "10s"): Files => ({
  "eider.yaml": `http-port: 0\nconnections: { memory: {} }\nlimits: { shutdown-grace: ${grace} }\n${yaml}`,
  "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: [memory]\nwith-pagination: false\n",
  "x.sql": "SELECT 1 AS a",
  "endless.yaml": "url-path: /endless\ntemplate-source: endless.sql\nconnection: [memory]\nwith-pagination: false\n",
  "endless.sql": ENDLESS,
});

const ADMIN = "admin: { port: 0 }\n";

async function adminUrl(program: Program): Promise<string> {
  return await until("the line of the listener", () => /^Admin listening on (http:\S+)\n/m.exec(program.stdout())?.[1]);
}

test("a listener of its own for health and metrics; the other knows neither; its port stops another start", async () => {
  await using program = await start(project(ADMIN));
  const url = await program.url();
  const admin = await adminUrl(program);
  for (const path of ["/health", "/health/live", "/health/ready", "/metrics"]) {
    expect([path, (await fetch(url + path)).status]).toEqual([path, 404]);
    expect([path, (await fetch(admin + path)).status]).toEqual([path, 200]);
  }
  expect((await fetch(`${url}/x`)).status).toBe(200);
  const refused = await fetch(`${admin}/x`);
  expect([refused.status, await refused.json()]).toEqual([404, { error: "Not Found" }]);
  const posted = await fetch(`${admin}/health`, { method: "POST" });
  expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  expect((await fetch(`${admin}/metrics`, { method: "OPTIONS" })).status).toBe(204);
  expect(refused.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  const scraped = await scrape(admin);
  // Figures of the process come with those of the service.
  expect(scraped.get("process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
  expect(scraped.get("nodejs_eventloop_lag_p99_seconds")).toBeGreaterThanOrEqual(0);
  const { port } = new URL(admin);
  const second = await runHere(project(`admin: { port: ${port} }\n`));
  expect(second.code).toBe(3);
  expect(second.stderr).toContain(`cannot listen on 127.0.0.1:${port}`);
  program.signal("SIGTERM");
  expect(await program.exited).toEqual({ code: 0, signal: null });
});

test("during shutdown, health checks report it until the last call has ended", async () => {
  await using program = await start(project(ADMIN, "2s"));
  const url = await program.url();
  const admin = await adminUrl(program);
  const socket = await openSocket(url);
  socket.send("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n");
  await until("its query", async () => (await scrape(admin)).get("eider_queries_running") === 1);
  program.signal("SIGTERM");
  const body = await until("the news", async () => {
    const answer = await fetch(`${admin}/health/ready`, { headers: { Connection: "close" } });
    return answer.status === 503 ? await answer.json() : undefined;
  });
  expect(body).toEqual({ status: "draining" });
  expect((await fetch(`${admin}/metrics`, { headers: { Connection: "close" } })).status).toBe(200);
  await expect(fetch(url)).rejects.toThrow();
  expect(await program.exited).toEqual({ code: 0, signal: null });
});

test("without it, health is on the REST port, and metrics where they are public or in development", async () => {
  await using served = await startHere(project());
  const url = await served.url();
  expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  expect((await fetch(`${url}/metrics`)).status).toBe(404);
  expect(served.stdout()).not.toContain("Admin");
  for (const [yaml, args] of [
    ["metrics: { public: true }\n", ["serve"]],
    ["", ["dev"]],
  ] as const) {
    await using program = await startHere(project(yaml), { args });
    const at = await program.url();
    await (await fetch(`${at}/x`)).text();
    await until("the call", async () => [...(await scrape(at)).keys()].some((line) => line.includes('"GET /x"')));
    expect(program.stdout()).not.toContain("Admin");
    await expectReadable(at);
  }
});

/** The text is what Prometheus reads: each metric once, with its type before its lines. */
async function expectReadable(url: string): Promise<void> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const types = [...text.matchAll(/^# TYPE (\S+) (counter|gauge|histogram|summary)$/gm)].map(([, name = ""]) => name);
  expect(new Set(types).size).toBe(types.length);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  expect(lines.filter((line) => !/^[a-z_]+[a-z0-9_]*(?:\{(?:[a-z_]+="[^"\n]*",?)*\})? \S+$/i.test(line))).toEqual([]);
  // No line comes twice.
  expect(readMetrics(text).size).toBe(lines.length);
}

test("figures outlive a reload; a change of the listener is told to need a restart", async () => {
  await using program = await startHere(project(ADMIN), { args: ["serve", "--watch"] });
  const url = await program.url();
  const admin = await adminUrl(program);
  await (await fetch(`${url}/x`)).text();
  const line = 'eider_requests_total{endpoint="GET /x",surface="rest",status="200",format="json"}';
  await until("the call", async () => (await scrape(admin)).get(line) === 1);
  await writeFile(join(program.folder, "x.sql"), "SELECT 2 AS a");
  await until("the reload", async () => (await scrape(admin)).get('eider_reloads_total{outcome="done"}') === 1);
  await (await fetch(`${url}/x`)).text();
  await until("both calls", async () => (await scrape(admin)).get(line) === 2);
  await writeFile(
    join(program.folder, "eider.yaml"),
    `${project(`${ADMIN}tracing: {}\nmetrics: { enabled: false }\n`)["eider.yaml"]}`,
  );
  await until("the line", () => /tracing has changed; restart to apply it/.exec(program.stderr()));
  await until("the other line", () => /metrics has changed; restart to apply it/.exec(program.stderr()));
  expect((await scrape(admin)).get(line)).toBe(2);
});

test("a reopened database is the one that metrics describe", async () => {
  await using program = await startHere(project(`${ADMIN}heartbeat: { worker-interval: 1 }\n`), {
    args: ["serve", "--watch"],
  });
  const admin = await adminUrl(program);
  await writeFile(
    join(program.folder, "eider.yaml"),
    `${project(`${ADMIN}duckdb: { max_memory: 200MB }\n`)["eider.yaml"]}`,
  );
  const limit = await until("the new limit", async () => {
    const bytes = (await scrape(admin)).get("eider_database_memory_limit_bytes") ?? 0;
    return bytes > 0 && bytes < 250_000_000 ? bytes : undefined;
  });
  expect(Math.round(limit / 1e6)).toBe(200);
});

test("traces reach the collector, and the last of them when it stops", async () => {
  await using collector = await openTraceCollector();
  await using program = await start(project(`tracing: { endpoint: "${collector.url}", service-name: shop }\n`));
  const url = await program.url();
  const answer = await fetch(`${url}/x`);
  const [, traceId] = (answer.headers.get("traceparent") ?? "").split("-");
  program.signal("SIGTERM");
  expect(await program.exited).toEqual({ code: 0, signal: null });
  expect(collector.spans().map(({ name }) => name)).toContain("GET /x");
  expect(new Set(collector.spans().map((span) => span.traceId))).toEqual(new Set([traceId]));
  expect(collector.services()).toEqual(["shop"]);
});

test("a collector that never answers does not keep it from stopping", async () => {
  await using program = await start(project('tracing: { endpoint: "http://192.0.2.1:4318" }\n'));
  const url = await program.url();
  expect((await fetch(`${url}/x`)).status).toBe(200);
  program.signal("SIGTERM");
  expect((await program.exited).code).toBe(0);
});
