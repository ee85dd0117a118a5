import { expect, test } from "vitest";
import { endpoint, type Files, serviceFrom, type TestService } from "../service.ts";
import { openTraceCollector, type SentSpan } from "../trace-collector.ts";
import { until } from "../until.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = "00f067aa0ba902b7";

const files = (url: string, yaml = ""): Files => ({
  "eider.yaml": `connections: { memory: {} }\ntracing:\n  endpoint: ${url}\n${yaml}`,
  "x.sql": "SELECT range AS i, '{{{params.name}}}' AS name FROM range({{params.n}})",
  "x.yaml":
    "url-path: /x/:name\ntemplate-source: x.sql\nconnection: [memory]\nrequest:\n  - { field-name: name, field-in: path }\n  - { field-name: n, field-in: query, validators: [{ type: int }] }\n",
});

const attributesOf = ({ attributes }: SentSpan): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** Calls a service and stops it: what it has gathered by then is sent. */
async function calling(project: Files, call: (service: TestService) => Promise<void>): Promise<void> {
  await using service = await serviceFrom(project);
  await call(service);
}

const PHASES = ["validate", "prepare", "render", "queue", "first_row", "stream"];

test("a call is a span in the trace of its caller, with one below it for each phase, and nothing of what was sent", async () => {
  await using collector = await openTraceCollector();
  const yaml = "  service-name: shop\n  headers: { x-key: open-sesame }\n";
  let place = "";
  await calling(files(collector.url, yaml), async (service) => {
    const answer = await service.get("/x/hidden?n=3", { traceparent: `00-${TRACE}-${CALLER}-01` });
    expect(((await answer.json()) as { data: unknown[] }).data).toHaveLength(3);
    place = answer.headers.get("traceparent") ?? "";
    expect(place).toMatch(new RegExp(`^00-${TRACE}-(?!${CALLER})[0-9a-f]{16}-01$`));
    expect(answer.headers.get("traceresponse")).toBe(place);
    expect(answer.headers.get("server-timing")).toMatch(/^validate;dur=/);
  });
  const spans = collector.spans();
  const call = spans.find(({ name }) => name === "GET /x/:name");
  if (call === undefined) throw new Error("no span of the call");
  expect(call).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, spanId: place.split("-")[2], kind: 2 });
  expect(attributesOf(call)).toMatchObject({
    "eider.endpoint": "GET /x/:name",
    "eider.surface": "rest",
    "http.request.method": "GET",
    "http.route": "/x/:name",
    "http.response.status_code": 200,
    "eider.rows": 3,
    "eider.format": "json",
  });
  const below = spans.filter(({ parentSpanId }) => parentSpanId === call.spanId);
  expect(below.map(({ name }) => name)).toEqual(PHASES);
  // One after the other, from the beginning of the call to its end.
  const nanos = (text: string): number => Number(BigInt(text) - BigInt(call.startTimeUnixNano));
  const close = (left: number, right: number): boolean => Math.abs(left - right) < 10_000;
  let from = 0;
  for (const { startTimeUnixNano, endTimeUnixNano } of below) {
    expect(close(nanos(startTimeUnixNano), from)).toBe(true);
    from = nanos(endTimeUnixNano);
  }
  expect(close(nanos(call.endTimeUnixNano), from)).toBe(true);
  expect(collector.services()).toContain("shop");
  const [sent] = collector.requests;
  expect(sent?.url).toBe("/v1/traces");
  expect(sent?.headers["x-key"]).toBe("open-sesame");
  expect(collector.requests.map(({ body }) => body).join("")).not.toMatch(/hidden|open-sesame/);
  // The libraries are loaded here, which takes its time on a busy machine.
});

test("without a caller's trace a new one begins; a failure is marked as one", async () => {
  await using collector = await openTraceCollector();
  const project = {
    ...files(collector.url),
    "bad.yaml": "url-path: /bad\ntemplate-source: bad.sql\nconnection: [memory]\n",
    "bad.sql": "SELECT error('broken') AS a",
  };
  await calling(project, async (service) => {
    const answer = await service.get("/bad", { traceparent: "nonsense" });
    expect(answer.status).toBe(500);
    expect(answer.headers.get("traceparent")).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });
  const call = collector.spans().find(({ name }) => name === "GET /bad");
  expect(call?.parentSpanId).toBeUndefined();
  expect(call?.status.code).toBe(2);
});

test("a caller decides whether its trace is recorded; without one the ratio does", async () => {
  await using collector = await openTraceCollector();
  await calling(files(collector.url, "  sample-ratio: 0\n"), async (service) => {
    const silent = await service.get("/x/a?n=1");
    expect(silent.headers.get("traceparent")).toMatch(/-00$/);
    const declined = await service.get("/x/b?n=1", { traceparent: `00-${TRACE}-${CALLER}-00` });
    expect(declined.headers.get("traceparent")).toMatch(new RegExp(`^00-${TRACE}-.*-00$`));
    const asked = await service.get("/x/c?n=1", { traceparent: `00-${TRACE}-${CALLER}-01` });
    expect(asked.headers.get("traceparent")).toMatch(new RegExp(`^00-${TRACE}-.*-01$`));
  });
  expect(collector.spans().filter(({ name }) => name.startsWith("GET"))).toHaveLength(1);
});

test("a collector that is down is told once, and no call waits for it", async () => {
  const collector = await openTraceCollector();
  await collector[Symbol.asyncDispose]();
  await using service = await serviceFrom(files(collector.url, "  headers: { x-key: open-sesame }\n"));
  for (let n = 0; n < 200; n++) expect((await service.get("/x/a?n=1")).status).toBe(200);
  const down = await until("the event", () => service.events.find(({ kind }) => kind === "dependency-down"));
  expect(down).toMatchObject({ dependency: "trace collector" });
  expect(JSON.stringify(service.events)).not.toContain("open-sesame");
  expect(service.events.filter(({ kind }) => kind === "dependency-down")).toHaveLength(1);
  expect(await service.json("/health/ready")).toEqual({ status: "ok" });
});

test("without tracing no header of it is sent", async () => {
  await using service = await serviceFrom(endpoint("SELECT 1 AS a"));
  const { headers } = await service.get("/x", { traceparent: `00-${TRACE}-${CALLER}-01` });
  expect([headers.get("traceparent"), headers.get("traceresponse"), headers.get("server-timing")]).toEqual([
    null,
    null,
    null,
  ]);
});
