import { describe, expect, test } from "vitest";

interface Operation {
  readonly key: string;
  readonly summary: string;
  readonly description: string;
  readonly params: readonly { readonly name: string; readonly location: string; readonly required: boolean }[];
  readonly security: readonly (readonly string[])[];
  readonly columns?: readonly { readonly name: string; readonly type: string; readonly isNumber: boolean }[];
  readonly formats: readonly { readonly name: string }[];
  readonly isWrite: boolean;
  readonly singleRowIn?: "body" | "data";
}

interface DocumentModule {
  readDocument(document: object): {
    readonly operations: Map<string, Operation>;
    readonly groups: readonly { readonly name: string; readonly operations: readonly Operation[] }[];
    readonly schemes: Map<string, { readonly kind: string; readonly description: string }>;
    readonly title: string;
  };
}

interface SchemaModule {
  typeLabel(document: object, schema: object): string;
  limitsOf(schema: object): string[];
  choicesOf(schema: object): string[] | undefined;
  fieldsOf(document: object, schema: object): Iterable<{ readonly depth: number; readonly name: string }>;
}

// The page is JavaScript without types; the names are made so that the compiler does not look for them.
const { readDocument }: DocumentModule = await import(new URL("./document.js", import.meta.url).href);
const { typeLabel, limitsOf, choicesOf, fieldsOf }: SchemaModule = await import(
  new URL("./schema.js", import.meta.url).href
);

const answering = (schema: object) => ({
  responses: { "200": { description: "", content: { "application/json": { schema } } } },
});

function operation(item: object, key = "GET /a", more: object = {}): Operation {
  const method = key.split(" ")[0]?.toLowerCase() ?? "";
  const found = readDocument({ paths: { "/a": { [method]: item } }, ...more }).operations.get(key);
  if (found === undefined) throw new Error(`no operation ${key}`);
  return found;
}

describe("operations", () => {
  test("a document that holds next to nothing is read", () => {
    expect(readDocument({})).toMatchObject({ title: "API", groups: [] });
    expect(operation({})).toMatchObject({ summary: "", params: [], security: [], formats: [], isWrite: false });
  });

  test("parameters of the path are those of each method, and an operation's own win", () => {
    const document = {
      components: { parameters: { limit: { name: "limit", in: "query", schema: { type: "integer" } } } },
      paths: {
        "/a/{id}": {
          parameters: [{ name: "id", in: "path", required: true }, { $ref: "#/components/parameters/limit" }],
          get: { parameters: [{ name: "limit", in: "query", required: true }] },
        },
      },
    };
    expect(readDocument(document).operations.get("GET /a/{id}")?.params).toMatchObject([
      { name: "id", location: "path", required: true },
      { name: "limit", location: "query", required: true },
    ]);
  });

  test("groups: tags as the document lists them, then others, then those without", () => {
    const item = (...tags: readonly string[]) => ({ get: { tags } });
    const { groups } = readDocument({
      tags: [{ name: "z" }, { name: "empty" }, { name: "a" }],
      paths: { "/1": item(), "/2": item("b"), "/3": item("a"), "/4": item("z", "a"), "/5": item("__proto__") },
    });
    expect(groups.map(({ name, operations }) => [name, operations.map(({ key }) => key)])).toEqual([
      ["z", ["GET /4"]],
      ["a", ["GET /3"]],
      ["b", ["GET /2"]],
      ["__proto__", ["GET /5"]],
      ["", ["GET /1"]],
    ]);
  });

  test.each([
    [{ summary: "GET /a/:id", description: "x" }, "", "x"],
    [{ summary: "Items", description: "Items" }, "Items", ""],
    [{ summary: "Items", description: "Items\n\nCached." }, "Items", "Cached."],
    [{ summary: "Items", description: "Items of all" }, "Items", "Items of all"],
  ])("words of %j", (item, summary, description) => {
    expect(operation(item)).toMatchObject({ summary, description });
  });

  test.each([
    ["GET", {}, false],
    ["POST", {}, true],
    ["DELETE", { "x-eider-operation": "read" }, false],
    ["GET", answering({ type: "object", properties: { rows_affected: { type: "integer" } } }), true],
    ["POST", answering({ type: "object", properties: { data: { type: "array" } } }), false],
    ["POST", answering({ type: "array" }), false],
  ])("%s %j changes data: %s", (method, item, expected) => {
    expect(operation(item, `${method} /a`).isWrite).toBe(expected);
  });

  test("who may call: the operation's own word, or the document's", () => {
    const security = [{ staff: [] }];
    expect(operation({}, "GET /a", { security }).security).toEqual([["staff"]]);
    expect(operation({ security: [] }, "GET /a", { security }).security).toEqual([]);
    const { schemes } = readDocument({
      components: {
        securitySchemes: {
          basic: { type: "http", scheme: "Basic" },
          jwt: { type: "http", scheme: "bearer" },
          oidc: { type: "openIdConnect", openIdConnectUrl: "https://id.example/.well-known/openid-configuration" },
        },
      },
    });
    expect([...schemes].map(([name, { kind, description }]) => [name, kind, description])).toEqual([
      ["basic", "basic", ""],
      ["jwt", "bearer", ""],
      ["oidc", "bearer", "Token from https://id.example"],
    ]);
  });
});

test("columns: from the rows of an envelope or an array, behind references, in their order", () => {
  const components = {
    schemas: {
      Row: {
        type: "object",
        properties: {
          2: { $ref: "#/components/schemas/Decimal", "x-sql-type": "DECIMAL(4,1)" },
          name: { type: ["string", "null"] },
          list: { type: ["array", "null"], items: { type: "integer" } },
          any: {},
        },
      },
      Decimal: { type: ["number", "null"] },
    },
  };
  const rows = { type: "array", items: { $ref: "#/components/schemas/Row" } };
  const expected = [
    { name: "2", type: "DECIMAL(4,1)", isNumber: true },
    { name: "name", type: "string", isNumber: false },
    { name: "list", type: "array of integer", isNumber: false },
    { name: "any", type: "any", isNumber: false },
  ];
  expect(operation(answering(rows), "GET /a", { components }).columns).toEqual(expected);
  const envelope = { type: "object", properties: { data: rows } };
  expect(operation(answering(envelope), "GET /a", { components }).columns).toEqual(expected);
  expect(operation(answering({ type: "string" })).columns).toBe(undefined);
  const row = { $ref: "#/components/schemas/Row" };
  const one = { "x-eider-operation": "read", "x-eider-returns": "one", ...answering(row) };
  expect(operation(one, "POST /a", { components })).toMatchObject({
    columns: expected,
    singleRowIn: "body",
    isWrite: false,
  });
  const data = { type: "object", properties: { rows_affected: { type: "integer" }, data: row } };
  const written = { "x-eider-operation": "write", "x-eider-returns": "one", ...answering(data) };
  expect(operation(written, "PUT /a", { components })).toMatchObject({
    columns: expected,
    singleRowIn: "data",
    isWrite: true,
  });
});

describe("schemas", () => {
  const document = {
    components: { schemas: { Tree: { type: "object", properties: { next: { $ref: "#/components/schemas/Tree" } } } } },
    loop: { $ref: "#/loop" },
  };

  test.each([
    [{ type: "integer" }, "integer"],
    [{ type: ["string", "null"], format: "date" }, "date"],
    [{ enum: ["a"] }, "enum"],
    [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "integer"],
    [{ anyOf: [{ type: "integer" }, { type: "string" }] }, "integer or string"],
    [{ type: ["string", "number", "boolean", "object", "array"], items: {} }, "any"],
    [{ type: "array" }, "array"],
    [{ $ref: "#/nowhere" }, "any"],
    [{ $ref: "#/loop" }, "any"],
    [{ $ref: "https://elsewhere.example/schema" }, "any"],
    [{ $ref: "#/constructor" }, "any"],
  ])("the type of %j is %s", (schema, label) => expect(typeLabel(document, schema)).toBe(label));

  test.each([
    [{ minimum: 1, maximum: 9 }, ["1 to 9"]],
    [{ minimum: { digits: "9007199254740993" } }, ["at least 9007199254740993"]],
    [{ minLength: 1, maxLength: 1 }, ["exactly 1 character"]],
    [{ maxLength: 40 }, ["at most 40 characters"]],
    [{ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, ["at least 0"]],
    [{ exclusiveMinimum: 0, multipleOf: 0.5 }, ["more than 0", "a multiple of 0.5"]],
    [{}, []],
  ])("the limits of %j", (schema, limits) => expect(limitsOf(schema)).toEqual(limits));

  test.each([
    [{ enum: ["a", null, 1, { digits: "1.50" }] }, ["a", "1", "1.50"]],
    [{ type: ["boolean", "null"] }, ["true", "false"]],
    [{ const: "x" }, ["x"]],
    [{ type: "string" }, undefined],
  ])("what may be chosen from %j", (schema, choices) => expect(choicesOf(schema)).toEqual(choices));

  test("a type that holds itself is shown once", () => {
    const lines = [...fieldsOf(document, { $ref: "#/components/schemas/Tree" })];
    expect(lines.map(({ depth, name }) => [depth, name])).toEqual([[0, "next"]]);
  });
});
