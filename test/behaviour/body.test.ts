import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { serviceFrom, type TestService } from "../service.ts";
import { openSocket } from "../socket.ts";
import { bodyFields, INT, mainFile, outcome, route, send } from "./write-project.ts";

const MAX = 1_000;
const FILES = {
  ...mainFile("CREATE TABLE t (a VARCHAR, b VARCHAR);", `limits: { max-body-bytes: ${MAX} }\n`),
  ...route("GET /t", "SELECT a, b FROM t"),
  ...route("DELETE /t", "DELETE FROM t"),
  ...route("POST /t", "INSERT INTO t VALUES ({{params.a}}, {{params.b}})", bodyFields({ a: "", b: "" })),
  ...route("PUT /t", "INSERT INTO t VALUES ({{params.a}}, '')", bodyFields({ a: `required: true, ${INT}` })),
  ...route(
    "PATCH /t",
    "INSERT INTO t VALUES ({{params.a}}, 'strict')",
    `request-fields-validation: true\n${bodyFields({ a: "" })}`,
  ),
};

let service: TestService;
beforeAll(async () => {
  service = await serviceFrom(FILES);
});
beforeEach(async () => {
  expect((await send(service, "DELETE /t")).status).toBe(200);
});
afterAll(() => service[Symbol.asyncDispose]());

const WRITTEN = [200, { rows_affected: 1 }];
const refusal = (field: string, message: string): unknown => ({ errors: [{ field, message }] });

describe("content type", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    'Application/JSON;charset="UTF-8"',
    "application/json; charset=utf8; profile=x",
  ])("%s", async (type) => {
    expect(await outcome(service, "POST /t", '{"a":"wörd €"}', { "Content-Type": type })).toEqual(WRITTEN);
    expect(await service.json("/t")).toEqual([{ a: "wörd €", b: null }]);
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=latin1",
    "application/jsonx",
  ])("%s is 415, and nothing is run", async (type) => {
    expect(await outcome(service, "POST /t", '{"a":1}', { "Content-Type": type })).toEqual([
      415,
      refusal("body", "Content-Type must be application/json"),
    ]);
    expect(await service.json("/t")).toEqual([]);
  });

  test("none with a body is 415", async () => {
    using socket = await openSocket(service.url);
    socket.send('POST /t HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{"a":1}');
    expect((await socket.take(1))[0]?.status).toBe(415);
    expect(await service.json("/t")).toEqual([]);
  });
});

describe("an empty body is {}", () => {
  test.each([
    ["no body, no length", ""],
    ["length 0", "Content-Length: 0\r\n"],
    ["length 0 and a type", "Content-Length: 0\r\nContent-Type: application/json\r\n"],
    ["no chunks", "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n"],
  ])("%s", async (_, headers) => {
    using socket = await openSocket(service.url);
    const end = headers.startsWith("Transfer") ? "0\r\n\r\n" : "";
    for (const method of ["POST", "PUT"]) socket.send(`${method} /t HTTP/1.1\r\nHost: x\r\n${headers}\r\n${end}`);
    const [post, put] = await socket.take(2);
    expect([post?.status, post?.body]).toEqual([200, '{"rows_affected":1}']);
    // Where something is required, it is missing.
    expect([put?.status, JSON.parse(put?.body ?? "")]).toEqual([400, refusal("a", "Required field is missing")]);
    expect(await service.json("/t")).toEqual([{ a: null, b: null }]);
  });
});

describe("the JSON", () => {
  test("a byte order mark is no part of it", async () => {
    expect(await outcome(service, "POST /t", '\ufeff{"a":"x"}')).toEqual(WRITTEN);
    expect(await service.json("/t")).toEqual([{ a: "x", b: null }]);
  });

  test.each([
    ['{"a":1,"a":2}', { a: "2", b: null }],
    ['{"a":1,"\\u0061":"x"}', { a: "x", b: null }],
    ['{"a":1,"b":"y","a":null}', { a: null, b: "y" }],
    ['{"a":{"a":1},"a":[2,{"a":3}]}', { a: '[2,{"a":3}]', b: null }],
  ])("of equal keys the last one counts: %s", async (body, row) => {
    expect(await outcome(service, "POST /t", body)).toEqual(WRITTEN);
    expect(await service.json("/t")).toEqual([row]);
  });

  test("the last one is what is validated", async () => {
    expect((await outcome(service, "PUT /t", '{"a":1,"a":"x"}'))[0]).toBe(400);
    expect(await outcome(service, "PUT /t", '{"a":"x","a":1}')).toEqual(WRITTEN);
    expect(await service.json("/t")).toEqual([{ a: "1", b: "" }]);
  });

  test.each(['{"__proto__":{"a":"evil","b":"evil"}}', '{"constructor":{"prototype":{"a":"evil"}},"toString":"x"}'])(
    "%s does no harm",
    async (body) => {
      expect(await outcome(service, "POST /t", body)).toEqual(WRITTEN);
      expect(await service.json("/t")).toEqual([{ a: null, b: null }]);
      expect(({} as Record<string, unknown>)["a"]).toBe(undefined);
      // Only what was sent is there for the next one too.
      expect(await outcome(service, "POST /t", '{"b":"y"}')).toEqual(WRITTEN);
      expect(await service.json("/t")).toContainEqual({ a: null, b: "y" });
    },
  );

  test("__proto__ is an undeclared field like any other", async () => {
    expect(await outcome(service, "PATCH /t", '{"a":1,"__proto__":{"a":2}}')).toEqual([
      400,
      refusal("__proto__", "Unknown parameter not defined in endpoint configuration"),
    ]);
    expect(await service.json("/t")).toEqual([]);
  });

  test.each(["{", "nonsense", '{"a":1}x', "\0", '{"a":01}', "{'a':1}"])(
    "%j is 400, and nothing is run",
    async (body) => {
      expect(await outcome(service, "POST /t", body)).toEqual([400, refusal("body", "Request body is not valid JSON")]);
      expect(await service.json("/t")).toEqual([]);
    },
  );

  test.each(["[]", "1", "null", '"text"', "[{}]"])("%s is no object: 400, and nothing is run", async (body) => {
    const [status, answer] = await outcome(service, "POST /t", body);
    expect([status, answer]).toEqual([400, { errors: [{ field: "body", message: expect.any(String) }] }]);
    expect(await service.json("/t")).toEqual([]);
  });
});

describe("over limits.max-body-bytes", () => {
  const TOO_LARGE = JSON.stringify(refusal("body", "Request body is too large"));
  const HEAD = "POST /t HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

  test("the limit itself is fine, a byte more is 413", async () => {
    const body = (size: number): string => `{"a":"${"x".repeat(size - 8)}"}`;
    expect(await outcome(service, "POST /t", body(MAX))).toEqual(WRITTEN);
    expect((await send(service, "POST /t", body(MAX + 1))).text).toBe(TOO_LARGE);
    expect(await service.json("/t")).toHaveLength(1);
  });

  test("in chunks, slowly: the answer comes before the end, and nothing is run", async () => {
    using socket = await openSocket(service.url);
    socket.send(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunk(`{"a":"${"x".repeat(500)}`)}`);
    // Not over the limit yet: it waits for more. A later request is answered first.
    expect(await service.json("/t")).toEqual([]);
    expect(socket.received().length).toBe(0);
    socket.send(chunk("x".repeat(500)));
    const [answer] = await socket.take(1);
    expect([answer?.status, answer?.body]).toEqual([413, TOO_LARGE]);
    // The end that it did not wait for makes no write of it.
    socket.send(`${chunk('"}')}0\r\n\r\n`);
    await socket.untilClosed();
    expect(await service.json("/t")).toEqual([]);
  });

  test("a client that leaves in the middle of its body: nothing is run", async () => {
    using socket = await openSocket(service.url);
    socket.send(`${HEAD}Content-Length: 7\r\n\r\n{"a":1`);
    expect(await service.json("/t")).toEqual([]);
    socket.close();
    expect(await service.json("/t")).toEqual([]);
    expect(await outcome(service, "POST /t", { a: 1 })).toEqual(WRITTEN);
    expect(await service.json("/t")).toHaveLength(1);
  });
});
