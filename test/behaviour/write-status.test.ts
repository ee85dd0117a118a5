import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { serviceFrom, type TestService } from "../service.ts";
import { bodyFields, INT, mainFile, outcome, route, send } from "./write-project.ts";

const INIT = `
CREATE TABLE parents (id INTEGER PRIMARY KEY);
INSERT INTO parents VALUES (1);
CREATE TABLE t (id INTEGER PRIMARY KEY, code VARCHAR UNIQUE, note VARCHAR NOT NULL CHECK (note <> 'Duplicate key'),
  parent INTEGER REFERENCES parents (id));`;
const ADD = "INSERT INTO t VALUES ({{params.id}}, {{params.code}}, {{params.note}}, {{params.parent}})";
const FIELDS = bodyFields({ id: INT, code: "", note: "", parent: INT });
const BAD: readonly (readonly [name: string, body: object, status: number, words: RegExp])[] = [
  ["a primary key twice", { id: 1, note: "n" }, 409, /^Conflict: Constraint Error: Duplicate key "id: 1"/],
  [
    "a unique value twice",
    { id: 9, code: "a", note: "n" },
    409,
    /^Conflict: Constraint Error: Duplicate key "code: a"/,
  ],
  ["NOT NULL", { id: 9 }, 422, /^Unprocessable Content: Constraint Error: NOT NULL constraint failed: t\.note/],
  ["CHECK", { id: 9, note: "Duplicate key" }, 422, /^Unprocessable Content: Constraint Error: CHECK constraint failed/],
  ["a foreign key", { id: 9, note: "n", parent: 5 }, 422, /^Unprocessable Content: Constraint Error: Violates foreign/],
  ["a referenced row", {}, 422, /^Unprocessable Content: Constraint Error: Violates foreign key/],
];

const HTTP_STATUS = "http-status: { constraint-failure: client-error, created: 201, nothing-changed: 404 }\n";
const endpoints = {
  ...route("POST /reset", "DELETE FROM t"),
  ...route("POST /fill", "INSERT INTO t VALUES (1, 'a', 'first', 1)"),
  ...route("POST /t", ADD, FIELDS),
  ...route("POST /each", `${ADD}; UPDATE t SET note = 'x' WHERE false`, `operation: { transaction: false }\n${FIELDS}`),
  ...route("POST /twice", "INSERT INTO t VALUES (7, 'x', 'n', NULL), (7, 'y', 'n', NULL)"),
  ...route(
    "POST /two-statements",
    "INSERT INTO t VALUES (7, 'x', 'n', NULL); INSERT INTO t VALUES (7, 'y', 'n', NULL)",
  ),
  ...route("POST /none", "INSERT INTO t SELECT 5, 'e', 'n', NULL WHERE false"),
  ...route("POST /read", "SELECT 1 AS n", "operation: { type: Read }\n"),
  ...route("POST /raise", "UPDATE t SET note = error('Constraint Error: Duplicate key')"),
  ...route("POST /cast", "UPDATE t SET id = 'Duplicate key'::VARCHAR::INTEGER"),
  ...route("GET /write", "UPDATE t SET note = 'x' WHERE false", "operation: { type: Write }\n"),
  ...route("DELETE /parents", "DELETE FROM parents"),
  ...route("PUT /t/:id", "UPDATE t SET note = 'x' WHERE id = {{params.id}}"),
  ...route("PATCH /t/:id", "UPDATE t SET note = 'x' WHERE id = {{params.id}}"),
  ...route("DELETE /t/:id", "DELETE FROM t WHERE id = {{params.id}}"),
};

async function prepare(service: TestService): Promise<void> {
  for (const target of ["POST /reset", "POST /fill"]) expect((await send(service, target)).status).toBeLessThan(300);
}

describe("by default", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await serviceFrom({ ...mainFile(INIT), ...endpoints });
    await prepare(service);
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  test.each(BAD)("%s is 500", async (_, body) => {
    const target = "id" in body ? "POST /t" : "DELETE /parents";
    expect(await outcome(service, target, body)).toEqual([
      500,
      { error: expect.stringMatching(/^Internal Server Error: Constraint Error: /) },
    ]);
  });

  test("every other write is 200", async () => {
    for (const target of ["PUT /t/7", "PATCH /t/7", "DELETE /t/7", "POST /none", "GET /write"]) {
      expect([target, ...(await outcome(service, target))]).toEqual([target, 200, { rows_affected: 0 }]);
    }
    expect((await outcome(service, "POST /t", { id: 2, note: "n" }))[0]).toBe(200);
  });
});

describe("with http-status", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await serviceFrom({
      ...mainFile(INIT, HTTP_STATUS),
      ...endpoints,
      ...route("POST /own", ADD, `operation: { http-status: { created: 200 } }\n${FIELDS}`),
      ...route("POST /all", ADD, `operation: { http-status: { constraint-failure: 500 } }\n${FIELDS}`),
      ...route(
        "PATCH /own",
        "UPDATE t SET id = id WHERE false",
        "operation: { http-status: { nothing-changed: 200 } }\n",
      ),
    });
  });
  beforeEach(() => prepare(service));
  afterAll(() => service?.[Symbol.asyncDispose]());

  test.each(BAD)("%s", async (_, body, status, words) => {
    const target = "id" in body ? "POST /t" : "DELETE /parents";
    for (const headers of [{}, { "Idempotency-Key": `bad-${_}` }]) {
      const { headers: sent, ...answer } = await send(service, target, body, headers);
      expect([answer.status, JSON.parse(answer.text)]).toEqual([status, { error: expect.stringMatching(words) }]);
      expect([sent.get("retry-after"), sent.get("cache-control")]).toEqual([null, "no-store"]);
    }
    if ("id" in body) expect((await outcome(service, "POST /each", body))[0]).toBe(status);
  });

  test("the same key twice in one write, or in several at once", async () => {
    for (const target of ["POST /twice", "POST /two-statements"])
      expect([target, (await outcome(service, target))[0]]).toEqual([target, 409]);
    const add = async () => (await outcome(service, "POST /t", { id: 8, note: "n" }))[0];
    const statuses = await Promise.all(Array.from({ length: 8 }, add));
    expect(statuses.sort()).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
  });

  test("what is no constraint stays 500", async () => {
    for (const target of ["POST /raise", "POST /cast"]) {
      expect([target, (await outcome(service, target))[0]]).toEqual([target, 500]);
    }
  });

  test("a POST that changed rows is 201, again with the same key", async () => {
    for (const _ of [1, 2]) {
      expect(await outcome(service, "POST /t", { id: 3, note: "n" }, { "Idempotency-Key": "three" })).toEqual([
        201,
        { rows_affected: 1 },
      ]);
    }
    expect(await outcome(service, "POST /none")).toEqual([200, { rows_affected: 0 }]);
    expect((await outcome(service, "POST /read", {}))[0]).toBe(200);
    expect((await outcome(service, "PUT /t/1"))[0]).toBe(200);
  });

  test("PUT, PATCH and DELETE that changed nothing are 404, again with the same key", async () => {
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      for (const _ of [1, 2]) {
        expect(await outcome(service, `${method} /t/7`, undefined, { "Idempotency-Key": `none-${method}` })).toEqual([
          404,
          { error: "Not Found" },
        ]);
      }
      expect(await outcome(service, `${method} /t/7`)).toEqual([404, { error: "Not Found" }]);
      expect(await outcome(service, `${method} /t/1`)).toEqual([200, { rows_affected: 1 }]);
    }
    expect(await outcome(service, "GET /write")).toEqual([200, { rows_affected: 0 }]);
  });

  test("an endpoint overrides key by key", async () => {
    expect(await outcome(service, "POST /own", { id: 4, note: "n" })).toEqual([200, { rows_affected: 1 }]);
    expect((await outcome(service, "POST /own", { id: 4, note: "n" }))[0]).toBe(409);
    expect((await outcome(service, "POST /all", { id: 5, note: "n" }))[0]).toBe(201);
    expect((await outcome(service, "POST /all", { id: 5, note: "n" }))[0]).toBe(500);
    expect((await outcome(service, "PATCH /own"))[0]).toBe(200);
  });
});

test("a redacted value is in no message of a constraint", async () => {
  await using service = await serviceFrom({
    ...mainFile("CREATE TABLE t (pin VARCHAR UNIQUE)", `${HTTP_STATUS}audit: { redact: [pin] }\n`),
    ...route("POST /t", "INSERT INTO t VALUES ({{params.pin}})", bodyFields({ pin: "" })),
  });
  expect((await outcome(service, "POST /t", { pin: "4711" }))[0]).toBe(201);
  const [status, body] = await outcome(service, "POST /t", { pin: "4711" });
  expect([status, JSON.stringify(body)]).toEqual([
    409,
    expect.stringMatching(/Conflict: Constraint Error: the message is/),
  ]);
  expect(JSON.stringify(body)).not.toContain("4711");
});
