/** The OpenAPI document of the project in shop-project.ts, written by hand. Hostile names are in it on purpose. */

type Schema = Readonly<Record<string, unknown>>;

const EVIL = '<img src=x onerror="window.hacked=1">';

const FORMATS = [
  "application/json",
  "text/csv",
  "application/vnd.apache.arrow.stream",
  "application/vnd.apache.parquet",
  "application/x-ndjson",
];

const error = (description: string) => ({
  description,
  content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
});

const invalid = {
  description: "A parameter is missing or wrong",
  content: { "application/json": { schema: { $ref: "#/components/schemas/Errors" } } },
};

const query = (name: string, schema: Schema, description = "") => ({ name, in: "query", description, schema });

const paging = [
  query("limit", { type: "integer", minimum: 0, maximum: 10000, default: 100 }, "How many rows at most"),
  query("offset", { type: "integer", minimum: 0, default: 0 }, "How many rows to leave out"),
  query("format", { type: "string", enum: ["json", "csv", "arrow", "ndjson", "parquet"], default: "json" }),
];

const rowsOf = (properties: Schema): Schema => ({ type: "array", items: { type: "object", properties } });

const envelope = (properties: Schema): Schema => ({
  type: "object",
  required: ["data", "next", "total_count"],
  properties: {
    data: rowsOf(properties),
    next: { type: "string", description: "Path of the next page, empty when there is none" },
    total_count: { type: "integer", description: "Rows on all pages" },
  },
});

const read = (schema: Schema) => ({
  "200": {
    description: "The rows",
    headers: { "X-Total-Count": { description: "Rows on all pages", schema: { type: "integer" } } },
    content: Object.fromEntries(FORMATS.map((type) => [type, type === "application/json" ? { schema } : {}])),
  },
  "400": invalid,
  "500": error("The query failed"),
  "504": error("The query took too long"),
});

const written = {
  "200": {
    description: "Done",
    content: {
      "application/json": {
        schema: { type: "object", required: ["rows_affected"], properties: { rows_affected: { type: "integer" } } },
      },
    },
  },
  "400": invalid,
  "401": error("Not signed in"),
};

const customer: Schema = {
  id: { type: "integer", format: "int64", "x-sql-type": "BIGINT" },
  name: { type: ["string", "null"], "x-sql-type": "VARCHAR" },
  balance: { type: "number", "x-sql-type": "DECIMAL(12,3)" },
  region: { type: "string", "x-sql-type": "VARCHAR" },
  since: { type: "string", format: "date", "x-sql-type": "DATE" },
  note: { type: ["string", "null"], "x-sql-type": "VARCHAR" },
  tags: { type: "array", items: { type: "string" }, "x-sql-type": "VARCHAR[]" },
  address: {
    type: "object",
    properties: { city: { type: "string" }, zip: { type: "string" } },
    "x-sql-type": "STRUCT(city VARCHAR, zip VARCHAR)",
  },
};

const id = {
  name: "id",
  in: "path",
  required: true,
  description: "Number of the customer",
  schema: { type: "integer", minimum: 1 },
};

const paths: Schema = {
  "/customers": {
    get: {
      operationId: "getCustomers",
      tags: ["customers"],
      summary: "Customers, newest first",
      description:
        "Everyone who ever bought something. Rows of other regions are left out when a region is given.\n\nAt most 100 calls a minute; the rows are cached for five minutes.",
      parameters: [
        query("region", { type: "string", enum: ["north", "south", "east", "west"] }, "Only customers of this region"),
        query("name", { type: "string", maxLength: 100 }, "Part of the name, in any case"),
        query("since", { type: "string", format: "date" }, "Only customers since this day"),
        query("min-id", { type: "integer", minimum: 1 }, "The smallest number to show"),
        ...paging,
      ],
      responses: { ...read(envelope(customer)), "429": error("Too many requests") },
    },
  },
  "/customers/{id}": {
    parameters: [id],
    get: {
      operationId: "getCustomer",
      tags: ["customers"],
      summary: "One customer",
      parameters: [query("format", { type: "string", enum: ["json", "csv"] })],
      responses: { ...read({ type: "object", properties: customer }), "404": error("No row matches") },
      "x-eider-operation": "read",
      "x-eider-returns": "one",
    },
    delete: {
      operationId: "deleteCustomer",
      tags: ["customers"],
      summary: "Removes a customer",
      deprecated: true,
      responses: written,
    },
  },
  "/orders": {
    post: {
      operationId: "addOrder",
      tags: ["orders"],
      summary: "Takes an order",
      security: [{ staff: [] }],
      requestBody: {
        required: true,
        content: {
          "application/json": {
            schema: {
              type: "object",
              required: ["customer", "amount"],
              properties: {
                customer: { type: "integer", description: "Number of the customer" },
                amount: { type: "number", minimum: 0, description: "In euros" },
                note: { type: "string", maxLength: 40 },
                extra: { description: "Anything else, as JSON" },
              },
            },
          },
        },
      },
      responses: written,
    },
    get: {
      operationId: "getOrders",
      tags: ["orders"],
      summary: "Orders as they were taken",
      responses: read(rowsOf({ customer: { type: "integer" }, amount: { type: "number" }, note: { type: "string" } })),
    },
  },
  "/me": {
    get: {
      operationId: "getMe",
      tags: ["account"],
      summary: "Who is signed in",
      security: [{ staff: [] }],
      responses: { ...read(rowsOf({ username: { type: "string" } })), "401": error("Not signed in") },
    },
  },
  "/robot": {
    get: {
      operationId: "getRobot",
      tags: ["account"],
      summary: "Which token was sent",
      security: [{ token: [] }],
      responses: { ...read(rowsOf({ username: { type: "string" } })), "401": error("Not signed in") },
    },
  },
  "/many": {
    get: {
      operationId: "getMany",
      tags: ["measurements"],
      summary: "Ten thousand rows at once",
      parameters: [query("rows", { type: "integer", minimum: 0, default: 10000 })],
      responses: read(
        rowsOf(Object.fromEntries(["n", "a", "b", "c", "d", "e", "f", "g"].map((name) => [name, { type: "integer" }]))),
      ),
    },
  },
  "/echo": {
    get: {
      operationId: "getEcho",
      tags: ["measurements"],
      summary: "Shows what arrived",
      parameters: [query("text", { type: "string" }), { name: "X-Note", in: "header", schema: { type: "string" } }],
      responses: read(rowsOf({})),
    },
  },
  "/evil": {
    get: {
      operationId: "getEvil",
      tags: [EVIL],
      summary: EVIL,
      description: `${EVIL}\n\n<script>window.hacked=1</script> javascript:alert(1)`,
      parameters: [
        query(EVIL, { type: "string", default: EVIL, pattern: EVIL }, EVIL),
        query("__proto__", { type: "string", enum: [EVIL, "constructor"] }, EVIL),
      ],
      responses: { ...read(rowsOf({ [EVIL]: { type: "string", "x-sql-type": EVIL } })), [EVIL]: error(EVIL) },
    },
  },
};

/** The document, with what a test adds. */
export function shopDocument(more: Schema = {}): Record<string, unknown> {
  return {
    openapi: "3.1.0",
    info: {
      title: "Shop",
      version: "1.4.0",
      description: "Customers and their orders, over an embedded DuckDB.",
    },
    tags: [
      { name: "customers", description: "Who buys" },
      { name: "orders", description: "What they buy" },
      { name: "account" },
    ],
    paths,
    components: {
      securitySchemes: {
        staff: { type: "http", scheme: "basic" },
        token: { type: "http", scheme: "bearer", description: "A token of the robot" },
      },
      schemas: {
        Error: { type: "object", required: ["error"], properties: { error: { type: "string" } } },
        Errors: {
          type: "object",
          required: ["errors"],
          properties: {
            errors: {
              type: "array",
              items: { type: "object", properties: { field: { type: "string" }, message: { type: "string" } } },
            },
          },
        },
      },
    },
    ...more,
  };
}
