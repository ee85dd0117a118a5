import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endpoint, serviceFrom } from "../service.ts";

const MAIN = `
connections:
  memory:
    init: |
      CREATE TABLE t AS SELECT range AS id FROM range(1000);
      CREATE SEQUENCE numbers;
`;

/** Asks several times: the first answers are made, the later ones may be remembered. */
async function askOften(
  service: Awaited<ReturnType<typeof serviceFrom>>,
  path: string,
  headers = {},
): Promise<string[]> {
  const answers: string[] = [];
  for (let time = 0; time < 8; time++) {
    answers.push(await (await service.get(path, headers)).text());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return answers;
}

test("the same request gets the same answer, with the head that belongs to it", async () => {
  await using service = await serviceFrom({ "eider.yaml": MAIN, ...endpoint("SELECT id FROM t ORDER BY id") });
  const [first, ...others] = await askOften(service, "/x?limit=3&offset=5");
  expect(first).toBe('{"data":[{"id":5},{"id":6},{"id":7}],"next":"/x?limit=3&offset=8","total_count":1000}');
  expect(others).toEqual(others.map(() => first));
  // A cached response has its own request ID, is 304 for clients that have it, and has no body for HEAD.
  const one = await service.get("/x?limit=3&offset=5");
  const other = await service.get("/x?limit=3&offset=5");
  expect(one.headers.get("x-request-id")).not.toBe(other.headers.get("x-request-id"));
  expect(other.headers.get("x-total-count")).toBe("1000");
  const etag = one.headers.get("etag") ?? "";
  expect((await service.get("/x?limit=3&offset=5", { "If-None-Match": etag })).status).toBe(304);
  const head = await service.request("/x?limit=3&offset=5", { method: "HEAD" });
  expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([
    200,
    String(first?.length),
    "",
  ]);
});

test("address, format, headers that the endpoint reads, and coding tell requests apart", async () => {
  const yaml =
    "with-pagination: false\nrequest:\n  - { field-name: x_least, field-in: header, default: '0', validators: [{ type: int }] }\n";
  await using service = await serviceFrom({
    "eider.yaml": MAIN,
    ...endpoint("SELECT id FROM t WHERE id >= {{params.x_least}} ORDER BY id", yaml),
  });
  const seen = new Set<string>();
  for (const [path, headers] of [
    ["/x?limit=2", {}],
    ["/x?limit=3", {}],
    ["/x?limit=2", { Accept: "text/csv" }],
    ["/x?limit=2&format=ndjson", {}],
    ["/x?limit=2", { "X-Least": "7" }],
    ["/x?limit=2", { "X-Least": "8" }],
  ] as const) {
    const answers = new Set(await askOften(service, path, headers));
    expect(answers.size).toBe(1);
    for (const answer of answers) seen.add(answer);
  }
  expect(seen.size).toBe(6);
  const packed = await askOften(service, "/x?limit=500", { "Accept-Encoding": "gzip" });
  const plain = await askOften(service, "/x?limit=500", { "Accept-Encoding": "identity" });
  expect(new Set([...packed, ...plain]).size).toBe(1);
});

test.each([
  ["a sequence", "SELECT nextval('numbers') AS id"],
  ["chance", "SELECT random() AS id FROM t LIMIT 1"],
  ["the time", "SELECT epoch_us(now()) AS id FROM t LIMIT 1"],
])("what depends on %s is asked each time", async (_, sql) => {
  await using service = await serviceFrom({ "eider.yaml": MAIN, ...endpoint(sql) });
  const answers = await askOften(service, "/x");
  expect(new Set(answers).size).toBe(answers.length);
});

test("failures are not remembered", async () => {
  await using service = await serviceFrom({
    "eider.yaml": MAIN,
    ...endpoint("SELECT CASE WHEN nextval('numbers') < 5 THEN error('409: not yet') ELSE 1 END AS id"),
  });
  const statuses: number[] = [];
  for (let time = 0; time < 6; time++) statuses.push((await service.get("/x")).status);
  expect(statuses).toEqual([409, 409, 409, 409, 200, 200]);
});

test("a file that changes is read again, however often it was requested", async () => {
  await using service = await serviceFrom({
    "eider.yaml": "connections:\n  memory:\n    properties: { path: ./t.csv }\n",
    "t.csv": "id\n1\n2\n",
    ...endpoint("SELECT id FROM read_csv('{{{conn.path}}}')"),
  });
  const answers = await askOften(service, "/x?limit=1");
  expect(new Set(answers)).toEqual(new Set(['{"data":[{"id":1}],"next":"/x?limit=1&offset=1","total_count":2}']));
  await writeFile(join(service.folder, "t.csv"), "id\n7\n8\n9\n");
  expect(await (await service.get("/x?limit=1")).text()).toBe(
    '{"data":[{"id":7}],"next":"/x?limit=1&offset=1","total_count":3}',
  );
});
