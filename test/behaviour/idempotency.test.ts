import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Files, serviceFrom, type TestService } from "../service.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-test-"));
});
afterAll(() => rm(folder, { recursive: true }));

const endpoints: Files = {
  "add.yaml":
    "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: shop\noperation: { returns-data: true }\nrequest:\n  - { field-name: name, field-in: body, required: true }\n",
  "add.sql": "INSERT INTO t SELECT nextval('ids'), '{{{params.name}}}' RETURNING *",
  "other.yaml":
    "url-path: /other\nmethod: POST\ntemplate-source: add.sql\nconnection: shop\noperation: { returns-data: true }\nrequest:\n  - { field-name: name, field-in: body, required: true }\n",
  "each.yaml":
    "url-path: /each\nmethod: POST\ntemplate-source: add.sql\nconnection: shop\noperation: { transaction: false }\nrequest:\n  - { field-name: name, field-in: body, required: true }\n",
  "picky.yaml":
    "url-path: /picky\nmethod: POST\ntemplate-source: picky.sql\nconnection: shop\nrequest:\n  - { field-name: name, field-in: body, required: true }\n",
  "picky.sql":
    "SELECT CASE WHEN count(*) = 0 THEN error('409: nobody there') END FROM t; INSERT INTO t SELECT nextval('ids'), '{{{params.name}}}'",
  "elsewhere.yaml":
    "url-path: /elsewhere\nmethod: POST\ntemplate-source: elsewhere.sql\nconnection: shop\nrequest:\n  - { field-name: name, field-in: body, required: true }\n",
  "elsewhere.sql": "INSERT INTO attached.t VALUES (1, '{{{params.name}}}')",
  "list.yaml": "url-path: /list\ntemplate-source: list.sql\nconnection: shop\nwith-pagination: false\n",
  "list.sql": "SELECT name FROM t UNION ALL SELECT name FROM attached.t ORDER BY name",
};

const main = (database: string | undefined): string => `
${database === undefined ? "" : `duckdb: { db_path: '${database}' }`}
connections:
  shop:
    init: |
      CREATE TABLE IF NOT EXISTS t (id INTEGER, name VARCHAR);
      CREATE SEQUENCE IF NOT EXISTS ids;
      ATTACH ':memory:' AS attached;
      CREATE TABLE attached.t (id INTEGER, name VARCHAR);
`;

const open = (database?: string): Promise<TestService> => serviceFrom({ "eider.yaml": main(database), ...endpoints });

async function post(service: TestService, path: string, name: string, key?: string): Promise<[number, string]> {
  const headers = { "Content-Type": "application/json", ...(key === undefined ? {} : { "Idempotency-Key": key }) };
  const answer = await service.request(path, { method: "POST", headers, body: JSON.stringify({ name }) });
  return [answer.status, await answer.text()];
}

const names = async (service: TestService): Promise<unknown> =>
  ((await service.json("/list")) as { name: string }[]).map(({ name }) => name);

describe.each([
  ["memory", () => undefined],
  ["a file", () => join(folder, `${crypto.randomUUID()}.duckdb`)],
])("keys in %s", (_, database) => {
  test("the same request gets the first answer again, and is not run", async () => {
    await using service = await open(database());
    const first = await post(service, "/add", "a", "k1");
    expect(first).toEqual([200, '{"rows_affected":1,"data":[{"id":1,"name":"a"}]}']);
    expect(await post(service, "/add", "a", "k1")).toEqual(first);
    // Another key, another endpoint, no key: other requests.
    expect((await post(service, "/add", "a", "k2"))[1]).toContain('"id":2');
    expect((await post(service, "/other", "a", "k1"))[1]).toContain('"id":3');
    expect((await post(service, "/add", "a"))[1]).toContain('"id":4');
    expect(await names(service)).toEqual(["a", "a", "a", "a"]);
    expect(await post(service, "/each", "b", "k1")).toEqual([200, '{"rows_affected":1}']);
    expect(await post(service, "/each", "b", "k1")).toEqual([200, '{"rows_affected":1}']);
    expect(await names(service)).toEqual(["a", "a", "a", "a", "b"]);
  });

  test("many at once are one", async () => {
    await using service = await open(database());
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(service, "/add", "a", "k")));
    expect(new Set(answers.map(String)).size).toBe(1);
    expect(await names(service)).toEqual(["a"]);
  });

  test("another request with the same key is 422, and changes nothing", async () => {
    await using service = await open(database());
    await post(service, "/add", "a", "k");
    const [status, body] = await post(service, "/add", "b", "k");
    expect([status, JSON.parse(body)]).toEqual([
      422,
      { error: "Unprocessable Content: this Idempotency-Key was used for another request" },
    ]);
    expect(await names(service)).toEqual(["a"]);
  });

  test("what failed is run again", async () => {
    await using service = await open(database());
    expect((await post(service, "/picky", "b", "k"))[0]).toBe(409);
    await post(service, "/add", "a");
    expect(await post(service, "/picky", "b", "k")).toEqual([200, '{"rows_affected":1}']);
    expect(await post(service, "/picky", "b", "k")).toEqual([200, '{"rows_affected":1}']);
    expect(await names(service)).toEqual(["a", "b"]);
  });

  test("a write to another database has its key too", async () => {
    await using service = await open(database());
    for (const _time of [1, 2]) {
      expect(await post(service, "/elsewhere", "x", "k")).toEqual([200, '{"rows_affected":1}']);
    }
    expect(await names(service)).toEqual(["x"]);
  });
});

test("keys in a file outlive the process", async () => {
  const database = join(folder, "kept.duckdb");
  let first: unknown;
  {
    await using service = await open(database);
    first = await post(service, "/add", "a", "k");
  }
  await using service = await open(database);
  expect(await post(service, "/add", "a", "k")).toEqual(first);
  expect((await post(service, "/add", "b", "k"))[0]).toBe(422);
  expect(await names(service)).toEqual(["a"]);
});

test.each([
  ["", 400],
  ["x".repeat(256), 400],
  ["x".repeat(255), 200],
])("a key of %j is %d", async (key, status) => {
  await using service = await open();
  const [answered, body] = await post(service, "/add", "a", key);
  expect(answered).toBe(status);
  if (status === 400) expect(JSON.parse(body).errors[0].field).toBe("Idempotency-Key");
});
