import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoint, problemsFrom, serviceFrom, type TestService } from "../service.ts";
import { openSocket } from "../socket.ts";

const UNKNOWN = "Unknown parameter not defined in endpoint configuration";
const MISSING = "Required field is missing";

const read = "connection: memory\nwith-pagination: false\n";
const post = `${read}method: POST\noperation: { type: Read }\n`;

let service: TestService;

beforeAll(async () => {
  service = await serviceFrom({
    "locations.yaml": `url-path: /locations/:in_path\ntemplate-source: locations.sql\n${post}request:
  - { field-name: in_query, field-in: query }
  - { field-name: in_path, field-in: path }
  - { field-name: x_user_region, field-in: header }
  - { field-name: in_body, field-in: body }
`,
    "locations.sql":
      "SELECT {{params.in_query}} AS q, {{params.in_path}} AS p, {{params.x_user_region}} AS h, {{params.in_body}} AS b",
    "strict.yaml": `url-path: /strict/:id\ntemplate-source: strict.sql\n${post}request-fields-validation: true\nrequest:
  - { field-name: a, field-in: query, validators: [{ type: int }] }
  - { field-name: b, field-in: body }
  - { field-name: id, field-in: path }
  - { field-name: x_h, field-in: header }
`,
    "strict.sql": "SELECT {{params.a}} AS a, {{params.b}} AS b",
    "strict-get.yaml": `url-path: /strict\ntemplate-source: strict-get.sql\n${read}request-fields-validation: true\nrequest:
  - { field-name: a, field-in: query }
`,
    "strict-get.sql": "SELECT {{params.a}} AS a",
    "required.yaml": `url-path: /required\ntemplate-source: required.sql\n${post}request:
  - { field-name: last, field-in: query, required: true, validators: [{ type: int }] }
  - { field-name: in_body, field-in: body, required: true, validators: [{ type: string, min: 2 }] }
  - { field-name: x_first, field-in: header, required: true }
  - { field-name: optional, field-in: query, validators: [{ type: int }] }
  - { field-name: given, field-in: query, required: true, default: "7", validators: [{ type: int, max: 9 }] }
`,
    "required.sql":
      "SELECT {{params.last}} AS l, {{params.in_body}} AS b, {{params.optional}} AS o, {{params.given}} AS g",
    "defaults.yaml": `url-path: /defaults\ntemplate-source: defaults.sql\n${read}request:
  - { field-name: n, field-in: query, default: "5", validators: [{ type: int, min: 1 }] }
  - { field-name: empty, field-in: query, default: "" }
  - { field-name: x_h, field-in: header, default: none }
`,
    "defaults.sql": "SELECT {{params.n}} + 1 AS n, {{params.empty}} AS empty, {{params.x_h}} AS h",
    "page.yaml": `url-path: /page\ntemplate-source: page.sql\nconnection: memory\nrequest:
  - { field-name: limit, field-in: query, default: "3", validators: [{ type: int, min: 2, max: 5 }] }
`,
    "page.sql": "SELECT range AS n FROM range(10)",
    "bare.yaml": `url-path: /bare\ntemplate-source: page.sql\n${read}request-fields-validation: true\n`,
  });
});
afterAll(() => service?.[Symbol.asyncDispose]());

const JSON_TYPE = { "content-type": "application/json" };

async function call(path: string, body: string | undefined, headers: Record<string, string> = {}) {
  const init = { method: "POST", headers: { ...JSON_TYPE, ...headers }, ...(body === undefined ? {} : { body }) };
  const answer = await service.request(path, init);
  return { status: answer.status, json: await answer.json() };
}

async function errorsOf(path: string, body?: string, headers?: Record<string, string>): Promise<unknown> {
  const { status, json } = await call(path, body, headers);
  expect(status).toBe(400);
  expect(Object.keys(json as object)).toEqual(["errors"]);
  return (json as { errors: unknown }).errors;
}

describe("a parameter is read from its own place only", () => {
  test("all four places", async () => {
    const { json } = await call("/locations/p1?in_query=q1", '{"in_body":"b1"}', { "X-User-Region": "h1" });
    expect(json).toEqual([{ q: "q1", p: "p1", h: "h1", b: "b1" }]);
  });

  test("the same names elsewhere are not seen", async () => {
    const query = "in_body=1&in_path=2&x_user_region=3&x-user-region=4";
    const body = '{"in_query":1,"in_path":2,"x_user_region":3,"x-user-region":4}';
    const { json } = await call(`/locations/p?${query}`, body, { "in-query": "5", "in-body": "6", in_path: "7" });
    expect(json).toEqual([{ q: null, p: "p", h: null, b: null }]);
  });

  test.each([
    ["X-User-Region", "EU"],
    ["x-user-region", "EU"],
    ["X-USER-REGION", "EU"],
    ["x_user_region", null],
  ])("header %s", async (name, expected) => {
    const { json } = await call("/locations/p", undefined, { [name]: "EU" });
    expect(json).toEqual([{ q: null, p: "p", h: expected, b: null }]);
  });

  test.each([
    ["in_query=", ""],
    ["in_query", ""],
    ["in_query=a+b%2Bc", "a b+c"],
    ["in_query=%C3%A4%F0%9F%98%80", "ä😀"],
    ["in_query=1&in_query=2", "1"],
    ["&&in_query=1&", "1"],
    ["in_query=a=b", "a=b"],
    ["in%5Fquery=1", "1"],
    ["In_Query=1", null],
    ["in_query[]=1", null],
  ])("query %s", async (query, expected) => {
    const { json } = await call(`/locations/p?${query}`, undefined);
    expect(json).toEqual([{ q: expected, p: "p", h: null, b: null }]);
  });

  test.each([
    ["a+b", "a+b"],
    ["a%2Fb", "a/b"],
    ["%20", " "],
    ["a.b~c-d_e", "a.b~c-d_e"],
  ])("path segment %s", async (segment, expected) => {
    expect((await call(`/locations/${segment}`, undefined)).json).toMatchObject([{ p: expected }]);
  });

  test.each([
    ['{"in_body":"x"}', "x"],
    ['{"in_body":29.990}', "29.990"],
    ['{"in_body":12345678901234567890}', "12345678901234567890"],
    ['{"in_body":1e400}', "1e400"],
    ['{"in_body":-0}', "-0"],
    ['{"in_body":true}', "true"],
    ['{"in_body":null}', null],
    ['{"in_body":"null"}', "null"],
    ['{"in_body":{"a":[1.50]}}', '{"a":[1.50]}'],
    ['{"in_body":[1, "]"]}', '[1, "]"]'],
    ['{"in_body":1,"in_body":null}', null],
    ['{"in\\u005fbody":"x"}', "x"],
    ['{"nested":{"in_body":1}}', null],
    ["{}", null],
  ])("body %s", async (body, expected) => {
    expect((await call("/locations/p", body)).json).toEqual([{ q: null, p: "p", h: null, b: expected }]);
  });
});

describe("required and default", () => {
  test("every missing field, in the order of declaration", async () => {
    expect(await errorsOf("/required")).toEqual([
      { field: "last", message: MISSING },
      { field: "in_body", message: MISSING },
      { field: "x_first", message: MISSING },
    ]);
  });

  test("one entry per field, the first rule that it breaks, also for those with a value", async () => {
    expect(await errorsOf("/required?last=x&given=10&optional=1.5", '{"in_body":"y"}')).toEqual([
      { field: "last", message: "Invalid integer value" },
      { field: "in_body", message: "String is shorter than the minimum allowed length" },
      { field: "x_first", message: MISSING },
      { field: "optional", message: "Invalid integer value" },
      { field: "given", message: "Integer is greater than the maximum allowed value" },
    ]);
  });

  test("null in a body is absent; empty is not", async () => {
    expect(await errorsOf("/required?last=1", '{"in_body":null}', { "x-first": "" })).toEqual([
      { field: "in_body", message: MISSING },
    ]);
    expect(await errorsOf("/required?last=", '{"in_body":""}', { "x-first": "1" })).toEqual([
      { field: "last", message: "Invalid integer value" },
      { field: "in_body", message: "String is shorter than the minimum allowed length" },
    ]);
  });

  test("a default satisfies required, what is absent otherwise is NULL", async () => {
    expect((await call("/required?last=1", '{"in_body":"yes"}', { "x-first": "1" })).json).toEqual([
      { l: 1, b: "yes", o: null, g: 7 },
    ]);
  });

  test("defaults are values of their type; what is sent wins, empty or not", async () => {
    expect(await service.json("/defaults")).toEqual([{ n: 6, empty: "", h: "none" }]);
    expect(await service.json("/defaults?n=9&empty=full")).toEqual([{ n: 10, empty: "full", h: "none" }]);
    const answer = await service.get("/defaults?n=");
    expect(await answer.json()).toEqual({ errors: [{ field: "n", message: "Invalid integer value" }] });
  });

  test("a default that its own validators refuse does not load", async () => {
    const problems = await problemsFrom(
      endpoint(
        "SELECT 1",
        "request:\n  - { field-name: n, field-in: query, default: '0', validators: [{ type: int, min: 1 }] }\n",
      ),
    );
    expect(problems).toEqual([expect.stringMatching(/^x\.yaml:5:\d+: request\[0\]\.default: /)]);
    expect(problems[0]).toContain("Integer is less than the minimum allowed value");
  });
});

describe("request-fields-validation", () => {
  test("what is not declared is refused after what is, each name once", async () => {
    expect(await errorsOf("/strict/1?z=1&a=x&y=2&z=3", '{"c":1,"b":2,"z":3,"a":1}')).toEqual([
      { field: "a", message: "Invalid integer value" },
      { field: "z", message: UNKNOWN },
      { field: "y", message: UNKNOWN },
      { field: "c", message: UNKNOWN },
    ]);
  });

  test("a declared name in another place is not declared there", async () => {
    expect(await errorsOf("/strict/1?b=1&id=2&x_h=3", '{"a":1}')).toEqual([
      { field: "b", message: UNKNOWN },
      { field: "id", message: UNKNOWN },
      { field: "x_h", message: UNKNOWN },
      { field: "a", message: UNKNOWN },
    ]);
  });

  test("limit, offset and format need no declaration, in the query", async () => {
    expect((await call("/strict/1?limit=1&offset=0&format=json&a=1", "{}")).status).toBe(200);
    expect(await errorsOf("/strict/1", '{"limit":1,"format":"json"}')).toEqual([
      { field: "limit", message: UNKNOWN },
      { field: "format", message: UNKNOWN },
    ]);
    expect(await service.json("/bare?limit=1&offset=2")).toEqual([{ n: 2 }]);
  });

  test("headers are never unknown", async () => {
    expect((await service.get("/strict?a=1", { "x-anything": "1", cookie: "a=b" })).status).toBe(200);
    expect((await service.get("/strict?A=1")).status).toBe(400);
  });

  test("without it they are let through and seen by nobody", async () => {
    expect((await call("/locations/p?whatever=1", '{"more":2}')).json).toEqual([{ q: null, p: "p", h: null, b: null }]);
  });

  test("a body on GET is not read", async () => {
    using socket = await openSocket(service.url);
    socket.send('GET /strict?a=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{"b":1}');
    const [answer] = await socket.take(1);
    expect([answer?.status, answer?.body]).toEqual([200, '[{"a":"1"}]']);
  });
});

describe("limit and offset", () => {
  test("a declared limit: its default is the page, its validators hold", async () => {
    expect(await service.json("/page")).toMatchObject({ data: [{ n: 0 }, { n: 1 }, { n: 2 }], total_count: 10 });
    expect(await service.json("/page?limit=5&offset=8")).toMatchObject({ data: [{ n: 8 }, { n: 9 }], next: "" });
    expect(await service.json("/page?limit=6")).toEqual({
      errors: [{ field: "limit", message: "Integer is greater than the maximum allowed value" }],
    });
    expect(await service.json("/page?limit=1&offset=-1")).toEqual({
      errors: [
        { field: "limit", message: "Integer is less than the minimum allowed value" },
        { field: "offset", message: "Integer is less than the minimum allowed value" },
      ],
    });
  });
});

test.each([
  ["one name twice", "  - { field-name: a, field-in: query }\n  - { field-name: a, field-in: body }\n", "POST"],
  ["a path parameter without a placeholder", "  - { field-name: a, field-in: path }\n", "GET"],
  ["a body field on GET", "  - { field-name: a, field-in: body }\n", "GET"],
  ["no location", "  - { field-name: a }\n", "GET"],
  ["an unknown location", "  - { field-name: a, field-in: cookie }\n", "GET"],
])("%s does not load", async (_, request, method) => {
  const problems = await problemsFrom(
    endpoint("SELECT 1", `method: ${method}\noperation: { type: Read }\nrequest:\n${request}`),
  );
  expect(problems.length).toBeGreaterThan(0);
  for (const problem of problems) expect(problem).toMatch(/^x\.yaml:\d+:\d+: request/);
});
