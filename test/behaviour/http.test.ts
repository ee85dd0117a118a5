import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serviceFrom, type TestService } from "../service.ts";

let service: TestService;

beforeAll(async () => {
  service = await serviceFrom({
    "hello.yaml": "url-path: /hello\ntemplate-source: hello.sql\nconnection: memory\nwith-pagination: false\n",
    "hello.sql": "SELECT 'hello' AS say",
    "page.yaml": "url-path: /page\ntemplate-source: hello.sql\nconnection: memory\n",
    "root.yaml": "url-path: /\ntemplate-source: hello.sql\nconnection: memory\n",
    "item.yaml":
      "url-path: /items/:kind/:id\ntemplate-source: item.sql\nconnection: memory\nwith-pagination: false\nrequest:\n  - { field-name: kind, field-in: path, required: true }\n  - { field-name: id, field-in: path, required: true }\n",
    "item.sql": "SELECT '{{{params.kind}}}' AS kind, '{{{params.id}}}' AS id",
    "fixed.yaml": "url-path: /items/all/new\ntemplate-source: hello.sql\nconnection: memory\nwith-pagination: false\n",
    "echo.yaml":
      "url-path: /echo\nmethod: post\noperation: { type: read }\ntemplate-source: echo.sql\nconnection: memory\nwith-pagination: false\nrequest:\n  - { field-name: q, field-in: query }\n  - { field-name: b, field-in: body }\n  - { field-name: x_user_region, field-in: header }\n",
    "echo.sql": "SELECT {{params.q}} AS q, {{params.b}} AS b, {{params.x_user_region}} AS h",
    "fail.yaml":
      "url-path: /fail\ntemplate-source: fail.sql\nconnection: memory\nrequest:\n  - { field-name: message, field-in: query, default: boom }\n",
    "fail.sql": "SELECT CASE WHEN range = 3 THEN error('{{{params.message}}}') END AS x FROM range(5)",
    "write.yaml": "url-path: /write\nmethod: DELETE\ntemplate-source: write.sql\nconnection: memory\n",
    "write.sql": "CREATE TABLE written (n int)",
  });
});
afterAll(() => service?.[Symbol.asyncDispose]());

const post = (body: string, headers: Record<string, string> = { "content-type": "application/json" }) =>
  service.request("/echo", { method: "POST", body, headers });

test("an answer is JSON, without a charset, with its length and an id", async () => {
  const answer = await service.get("/hello");
  expect(answer.status).toBe(200);
  expect(await answer.text()).toBe('[{"say":"hello"}]');
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(answer.headers.get("content-length")).toBe("17");
  expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
});

describe("paths", () => {
  test.each([
    ["/hello/", 200],
    ["/", 200],
    ["/hello//", 404],
    ["//hello", 404],
    ["/Hello", 404],
    ["/hell%6f", 200],
    ["/nothing", 404],
    ["/items/a", 404],
    ["/items//b", 404],
    ["/hello%2F", 404],
  ])("%s answers %i", async (path, status) => {
    const answer = await service.get(path);
    expect(answer.status).toBe(status);
    if (status === 404) expect(await answer.json()).toEqual({ error: "Not Found" });
  });

  test.each([
    ["/items/a/b", { kind: "a", id: "b" }],
    ["/items/a%2Fb/%C3%A4%20+", { kind: "a/b", id: "ä +" }],
    ["/items/all/old", { kind: "all", id: "old" }],
    ["/items/__proto__/constructor", { kind: "__proto__", id: "constructor" }],
    ["/items/%00/x", { kind: "\0", id: "x" }],
  ])("%s gives its parameters decoded", async (path, expected) => {
    expect(await service.json(path)).toEqual([expected]);
  });

  test("a fixed path wins over a parameter", async () => {
    expect(await service.json("/items/all/new")).toEqual([{ say: "hello" }]);
  });

  test.each([
    ["/items/%zz/x", "kind"],
    ["/items/x/%ff", "id"],
  ])("%s is refused", async (path, field) => {
    const answer = await service.get(path);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ errors: [{ field, message: "Invalid percent-encoding" }] });
  });
});

describe("methods", () => {
  test("HEAD has the headers of GET and no body", async () => {
    const answer = await service.request("/page", { method: "HEAD" });
    expect([answer.status, await answer.text(), answer.headers.get("x-total-count")]).toEqual([200, "", "1"]);
    expect(answer.headers.get("content-length")).toBe((await service.get("/page")).headers.get("content-length"));
  });

  test("OPTIONS says what is allowed", async () => {
    const answer = await service.request("/hello", { method: "OPTIONS" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
    expect((await service.request("/nothing", { method: "OPTIONS" })).status).toBe(404);
    expect((await service.request("/health", { method: "OPTIONS" })).headers.get("allow")).toBe("GET, HEAD, OPTIONS");
  });

  test.each([
    ["/hello", "POST", "GET, HEAD, OPTIONS"],
    ["/echo", "GET", "POST, OPTIONS"],
    ["/echo", "HEAD", "POST, OPTIONS"],
    ["/health", "DELETE", "GET, HEAD, OPTIONS"],
  ])("%s does not take %s", async (path, method, allow) => {
    const answer = await service.request(path, { method });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
    if (method !== "HEAD") expect(await answer.json()).toEqual({ error: "Method Not Allowed" });
  });
});

describe("parameters come from where they are declared", () => {
  test("query, body and header", async () => {
    const answer = await service.request("/echo?q=1&b=no&x_user_region=no", {
      method: "POST",
      headers: { "content-type": "application/json; charset=UTF-8", "X-User-Region": "EU" },
      body: '{"b": 12345678901234567890.10, "q": "no"}',
    });
    expect(await answer.json()).toEqual([{ q: "1", b: "12345678901234567890.10", h: "EU" }]);
  });

  test.each([
    ['{"b":29.99}', "29.99"],
    ['{"b":true}', "true"],
    ['{"b":null}', null],
    ['{"b":""}', ""],
    ['{"b":{"a":[1.0, 2]}}', '{"a":[1.0, 2]}'],
    ['{"b":"first","b":"last"}', "last"],
    ['\ufeff{"b":"bom"}', "bom"],
    ["{}", null],
    ["", null],
    ['{"__proto__":{"b":1},"constructor":2}', null],
  ])("body %s gives %j", async (body, expected) => {
    expect(await (await post(body)).json()).toEqual([{ q: null, b: expected, h: null }]);
  });

  test.each([
    ["{", "Request body is not valid JSON"],
    ["[1]", "Request body must be a JSON object"],
    ['"text"', "Request body must be a JSON object"],
    ["null", "Request body must be a JSON object"],
    [`${"[".repeat(100_000)}${"]".repeat(100_000)}`, "Request body must be a JSON object"],
    ["[".repeat(100_000), "Request body is not valid JSON"],
  ])("body %.20s is refused", async (body, message) => {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ errors: [{ field: "body", message }] });
  });

  test("a deep value is passed on as its text", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(await (await post(`{"b":${deep}}`)).json()).toEqual([{ q: null, b: deep, h: null }]);
  });

  test("invalid UTF-8 is refused", async () => {
    const body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    const answer = await service.request("/echo", {
      method: "POST",
      body,
      headers: { "content-type": "application/json" },
    });
    expect(answer.status).toBe(400);
  });

  test.each([
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["application/json; charset=latin1", 415],
    ["application/json", 200],
  ])("content type %s answers %i", async (type, status) => {
    const answer = await post('{"b":1}', { "content-type": type });
    expect(answer.status).toBe(status);
    if (status === 415)
      expect(await answer.json()).toEqual({
        errors: [{ field: "body", message: "Content-Type must be application/json" }],
      });
  });

  test("a body over the limit is 413", async () => {
    const answer = await post(`{"b":"${"x".repeat(1024 * 1024)}"}`);
    expect(answer.status).toBe(413);
    expect(await answer.json()).toEqual({ errors: [{ field: "body", message: "Request body is too large" }] });
  });
});

describe("errors", () => {
  test.each([
    ["boom", 500, "Internal Server Error: Invalid Input Error: boom"],
    ["403: not yours", 403, "not yours"],
    ["404: no such thing", 404, "no such thing"],
    ["500: no", 500, "Internal Server Error: Invalid Input Error: 500: no"],
    ["4030: no", 500, "Internal Server Error: Invalid Input Error: 4030: no"],
  ])("a template that raises %s answers %i", async (message, status, error) => {
    const answer = await service.get(`/fail?message=${encodeURIComponent(message)}`);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ error });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("content-type")).toBe("application/json");
  });

  test.each([
    ["abc-123", "abc-123"],
    ["a b", undefined],
    ["x".repeat(129), undefined],
  ])("request id %.20s", async (sent, expected) => {
    const id = (await service.get("/nothing", { "x-request-id": sent })).headers.get("x-request-id");
    if (expected === undefined) expect(id).toMatch(/^[0-9a-f-]{36}$/);
    else expect(id).toBe(expected);
  });

  test.each(["xml", "json,csv", ""])("format=%s is not offered", async (format) => {
    const answer = await service.get(`/hello?format=${format}`);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ errors: [{ field: "format", message: "Invalid enum value" }] });
  });
});

test.each(["/health", "/health/live", "/health/ready", "/health/"])("%s is there", async (path) => {
  expect(await service.json(path)).toEqual({ status: "ok" });
});
