import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { openDocsPage, pageHeaders } from "../../src/docs/page-assets.ts";
import { type Files, serviceFrom } from "../service.ts";
import { shopDocument } from "./shop-document.ts";

export const TOKEN = "0123456789abcdef0123456789abcdef";

const rest = (
  name: string,
  { path = `/${name}`, sql, yaml = "" }: { path?: string; sql: string; yaml?: string },
): Files => ({
  [`${name}.yaml`]: `url-path: ${path}\ntemplate-source: ${name}.sql\nconnection: [shop]\n${yaml}`,
  [`${name}.sql`]: sql,
});

const WITHOUT_PAGES = "with-pagination: false\n";
const STAFF = "auth: { type: basic, users: [{ username: ärnst, password: 'päss:wörd' }] }\n";

const INIT = `CREATE TABLE customers AS SELECT
    9007199254740993 + range AS id,
    CASE range WHEN 3 THEN NULL WHEN 4 THEN '<b onclick=alert(1)>bold</b>' ELSE 'Customer ' || range END AS name,
    (29.990 + range)::DECIMAL(12,3) AS balance,
    ['north', 'south', 'east', 'west'][1 + range % 4] AS region,
    DATE '2024-01-01' + range::INTEGER AS since,
    CASE WHEN range % 3 = 0 THEN NULL WHEN range % 3 = 1 THEN '' ELSE 'first line' || chr(10) || 'second line' END AS note,
    ['a', 'b'] AS tags, {'city': 'Husum', 'zip': '0' || range} AS address
  FROM range(250); CREATE TABLE orders (customer BIGINT, amount DECIMAL(20,3), note VARCHAR, extra JSON)`;

const PROJECT: Files = {
  "eider.yaml": `connections:\n  shop:\n    init: |\n      ${INIT.replaceAll("\n", "\n      ")}\n`,
  ...rest("customers", {
    sql: `SELECT * FROM customers WHERE true
      {{#params.region}} AND region = '{{{params.region}}}' {{/params.region}}
      {{#params.name}} AND name ILIKE '%{{{params.name}}}%' {{/params.name}}
      {{#params.since}} AND since >= {{params.since}} {{/params.since}}
      {{#params.min-id}} AND id >= {{params.min-id}} {{/params.min-id}} ORDER BY id`,
    yaml: `request:
  - { field-name: region, field-in: query, validators: [{ type: enum, allowedValues: [north, south, east, west] }] }
  - { field-name: name, field-in: query, validators: [{ type: string, max: 100 }] }
  - { field-name: since, field-in: query, validators: [{ type: date }] }
  - { field-name: min-id, field-in: query, validators: [{ type: int, min: 1 }] }\n`,
  }),
  ...rest("customer", {
    path: "/customers/:id",
    sql: "SELECT * FROM customers WHERE id = {{params.id}}",
    yaml: "returns: one\nrequest:\n  - { field-name: id, field-in: path, required: true, validators: [{ type: int, min: 1 }] }\n",
  }),
  ...rest("customer-gone", {
    path: "/customers/:id",
    sql: "DELETE FROM customers WHERE id = {{params.id}}",
    yaml: "method: DELETE\nrequest:\n  - { field-name: id, field-in: path, required: true, validators: [{ type: int }] }\n",
  }),
  ...rest("orders", { sql: "SELECT * FROM orders", yaml: WITHOUT_PAGES }),
  ...rest("order", {
    path: "/orders",
    sql: "INSERT INTO orders VALUES ({{params.customer}}, {{params.amount}}, {{params.note}}, {{params.extra}})",
    yaml: `method: POST\n${STAFF}request:
  - { field-name: customer, field-in: body, required: true, validators: [{ type: int }] }
  - { field-name: amount, field-in: body, required: true, validators: [{ type: number, min: 0 }] }
  - { field-name: note, field-in: body, validators: [{ type: string, max: 40 }] }
  - { field-name: extra, field-in: body }\n`,
  }),
  ...rest("me", { sql: "SELECT '{{{auth.username}}}' AS username", yaml: WITHOUT_PAGES + STAFF }),
  ...rest("robot", {
    sql: "SELECT '{{{auth.username}}}' AS username",
    yaml: `${WITHOUT_PAGES}auth: { type: bearer, tokens: [{ token: ${TOKEN}, username: robot }] }\n`,
  }),
  ...rest("many", {
    sql: `SELECT range AS n, ${["a", "b", "c", "d", "e", "f", "g"].map((name, i) => `range * ${7 ** i} % 10007 AS ${name}`).join(", ")} FROM range({{params.rows}})`,
    yaml: `${WITHOUT_PAGES}request:\n  - { field-name: rows, field-in: query, default: '10000', validators: [{ type: int, min: 0 }] }\n`,
  }),
  ...rest("echo", {
    sql: "SELECT {{params.text}} AS text, {{params.X-Note}} AS note",
    yaml: `${WITHOUT_PAGES}request:\n  - { field-name: text, field-in: query }\n  - { field-name: X-Note, field-in: header }\n`,
  }),
  ...rest("evil", {
    sql: `SELECT '<img src=x onerror="window.hacked=1">' AS "<img src=x onerror=""window.hacked=1"">"`,
    yaml: WITHOUT_PAGES,
  }),
};

export interface Shop extends AsyncDisposable {
  readonly url: string;
  /** The document that is served from now on. */
  setDocument(document: Record<string, unknown>): void;
  /** Whether the document asks who reads it. */
  protect(authorization: string): void;
  /** Tells the pages that listen. */
  tellChange(): void;
  listeners(): number;
  /** Everything as it was at first, the document included. */
  reset(): void;
}

/** The real service behind a listener that serves the page and a document as well. */
export async function openShop(): Promise<Shop> {
  const service = await serviceFrom(PROJECT);
  const page = await openDocsPage();
  const files = new Map([page.html, ...page.assets].map((asset) => [asset.path, asset]));
  const listening = new Set<ServerResponse>();
  let document = shopDocument();
  let wanted = "";

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const [path = ""] = (request.url ?? "").split("?");
    const file = files.get(path);
    if (file !== undefined) {
      const headers = file === page.html ? pageHeaders : { "Cache-Control": "public, max-age=31536000, immutable" };
      response.writeHead(200, { "Content-Type": file.contentType, ...headers }).end(file.body);
    } else if (path === "/openapi.json") {
      if (wanted !== "" && request.headers.authorization !== wanted) {
        response.writeHead(401, { "WWW-Authenticate": 'Basic realm="eider"' }).end('{"error":"Unauthorized"}');
        return;
      }
      response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(document));
    } else if (path === "/docs/events") {
      response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
      response.write(": hello\n\n");
      listening.add(response);
      response.once("close", () => listening.delete(response));
    } else service.app.handle(request, response);
  }

  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a listener has a port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    setDocument(next) {
      document = next;
    },
    protect(authorization) {
      wanted = authorization;
    },
    tellChange() {
      for (const each of listening) each.write("data: reload\n\n");
    },
    listeners: () => listening.size,
    reset() {
      document = shopDocument();
      wanted = "";
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await service[Symbol.asyncDispose]();
    },
  };
}
