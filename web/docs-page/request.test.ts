import { describe, expect, test } from "vitest";

interface Field {
  readonly name: string;
  readonly location: string;
  readonly schema: object;
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly params: readonly Field[];
  readonly body?: { readonly fields: readonly Field[] };
}

interface Form {
  readonly values: Map<string, { readonly sent: boolean; readonly text: string }>;
  readonly bodyMode?: string;
  readonly bodyText?: string;
}

interface PageRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: string | undefined;
}

interface RequestModule {
  requestOf(
    operation: Operation,
    form: Form,
    service: { readonly root: URL; readonly authorization?: string },
  ): { readonly request: PageRequest; readonly problems: readonly object[] };
}

interface SendModule {
  withFormat(request: PageRequest, format: string): PageRequest;
  fileNameOf(request: PageRequest, ending: string): string;
  nextRequestOf(request: PageRequest, next: unknown, root: URL): PageRequest | undefined;
}

// The page is JavaScript without types; the names are made so that the compiler does not look for them.
const { requestOf }: RequestModule = await import(new URL("./request.js", import.meta.url).href);
const { withFormat, fileNameOf, nextRequestOf }: SendModule = await import(new URL("./send.js", import.meta.url).href);

const root = new URL("http://127.0.0.1:8080/");
const field = (location: string, name: string, schema: object = { type: "string" }): Field => ({
  location,
  name,
  schema,
});

function requested(operation: Partial<Operation>, values: Record<string, string>, more: Partial<Form> = {}) {
  const form: Form = {
    values: new Map(Object.entries(values).map(([key, text]) => [key, { sent: true, text }])),
    ...more,
  };
  return requestOf({ method: "GET", path: "/a", params: [], ...operation }, form, { root });
}

describe("path and query", () => {
  test("values are encoded where they stand, in the order of the document", () => {
    const params = [field("path", "id"), field("query", "b c"), field("query", "a"), field("query", "unsent")];
    const { request, problems } = requested(
      { path: "/x/{id}/y", params },
      { "path:id": "a/b?c#d é", "query:a": "1&2=3+4", "query:b c": "" },
    );
    expect(problems).toEqual([]);
    expect(request).toEqual({
      method: "GET",
      url: "http://127.0.0.1:8080/x/a%2Fb%3Fc%23d%20%C3%A9/y?b%20c=&a=1%262%3D3%2B4",
      headers: [],
      body: undefined,
    });
  });

  test.each([
    ["", "A path parameter needs a value"],
    ["..", "A path cannot contain .."],
    [".", "A path cannot contain ."],
  ])("a path cannot carry %j", (text, message) => {
    const { request, problems } = requested({ path: "/x/{id}", params: [field("path", "id")] }, { "path:id": text });
    expect(problems).toEqual([{ field: "id", location: "path", message }]);
    if (text === "") expect(request.url).toBe("http://127.0.0.1:8080/x/{id}");
  });

  test("behind a proxy's path the service is still found", () => {
    const form: Form = { values: new Map() };
    const proxied = requestOf({ method: "GET", path: "/a", params: [] }, form, { root: new URL("https://h/api/") });
    expect(proxied.request.url).toBe("https://h/api/a");
  });

  test("half a character is no reason to stop", () => {
    const { request } = requested({ params: [field("query", "q")] }, { "query:q": "\ud83d" });
    expect(request.url).toBe("http://127.0.0.1:8080/a?q=%EF%BF%BD");
  });
});

test("headers: sent as they are, and what no header can carry is told", () => {
  const params = [field("header", "X-A"), field("header", "X-B"), field("header", "X-C")];
  const { request, problems } = requested({ params }, { "header:X-A": "é", "header:X-B": "日本", "header:X-C": "" });
  expect(request.headers).toEqual([
    ["X-A", "é"],
    ["X-C", ""],
  ]);
  expect(problems).toMatchObject([{ field: "X-B", location: "header" }]);
});

describe("body", () => {
  test.each([
    [{ type: "integer" }, "9007199254740993", "9007199254740993"],
    [{ type: ["integer", "null"] }, "-1", "-1"],
    [{ type: "number" }, "29.990", "29.990"],
    [{ type: "number" }, "1e400", "1e400"],
    [{ type: "integer" }, "007", '"007"'],
    [{ type: "integer" }, "many", '"many"'],
    [{ type: "boolean" }, "true", "true"],
    [{ type: "boolean" }, "yes", '"yes"'],
    [{ type: "string" }, "29.990", '"29.990"'],
    [{ type: ["string", "null"] }, "null", '"null"'],
    [{ type: "string" }, 'a"\n\\', '"a\\"\\n\\\\"'],
    [{ type: "object" }, ' {"a": 1.50} ', '{"a": 1.50}'],
    [{ type: "array" }, "[1, 2]", "[1, 2]"],
    [{ type: "object" }, "{broken", '"{broken"'],
    [{ type: ["string", "number", "boolean", "object", "array"] }, "1.50", "1.50"],
    [{}, "text", '"text"'],
    [{}, "null", "null"],
  ])("%j from %j: %s", (schema, text, literal) => {
    const { request } = requested(
      { method: "POST", body: { fields: [field("body", "x", schema)] } },
      { "body:x": text },
    );
    expect(request.body).toBe(`{\n  "x": ${literal}\n}`);
    expect(request.headers).toEqual([["Content-Type", "application/json"]]);
  });

  test("a name cannot break out of its quotes, and what is not sent is not there", () => {
    const fields = [field("body", '": 1, "y'), field("body", "__proto__"), field("body", "unsent")];
    const { request } = requested(
      { method: "POST", body: { fields } },
      { 'body:": 1, "y': "a", "body:__proto__": "b" },
    );
    expect(request.body).toBe('{\n  "\\": 1, \\"y": "a",\n  "__proto__": "b"\n}');
    expect(requested({ method: "POST", body: { fields } }, {}).request.body).toBe("{}");
  });

  test("typed as JSON it goes as it is typed", () => {
    const more = { bodyMode: "text", bodyText: '{"x": 1.10' };
    const { request } = requested({ method: "POST", body: { fields: [] } }, {}, more);
    expect(request.body).toBe('{"x": 1.10');
  });
});

describe("requests that follow from others", () => {
  const request: PageRequest = { method: "GET", url: "http://127.0.0.1:8080/a?x=a%20b&Format=json&y=%2B", headers: [] };

  test("another format, everything else as it was", () => {
    expect(withFormat(request, "csv").url).toBe("http://127.0.0.1:8080/a?x=a%20b&y=%2B&format=csv");
    expect(withFormat({ ...request, url: "http://h/a" }, "arrow").url).toBe("http://h/a?format=arrow");
  });

  test.each([
    ["/a?offset=100", "http://127.0.0.1:8080/a?offset=100"],
    ["/../x", "http://127.0.0.1:8080/x"],
    ["", undefined],
    ["//evil.example/a", undefined],
    ["/\\evil.example/a", undefined],
    ["https://evil.example/", undefined],
    ["@evil.example/", undefined],
    [7, undefined],
  ])("the next page %j: %s", (next, url) => {
    expect(nextRequestOf(request, next, root)?.url).toBe(url);
  });

  test.each([
    ["http://h/customers/1%2F2?x=1", "customers-1-2.csv"],
    ["http://h/..%2F..%2Fetc", "etc.csv"],
    ["http://h/", "rows.csv"],
    ["http://h/%E4%BA%BA/%zz", "rows.csv"],
  ])("a file for %s: %s", (url, name) => expect(fileNameOf({ ...request, url }, "csv")).toBe(name));
});
