// A shop in an SQLite file under a mixed load of 30 clients: lists, single products, filtered pages, orders as Arrow, customers,
// `tools/list`, health checks and unknown paths. Prints requests/s, CPU per request and memory.
//   npm run build && EIDER_TEST_EXTENSIONS=<folder with sqlite_scanner.duckdb_extension> node bench/northwind.mjs
import { Agent, request } from "node:http";
import { join } from "node:path";
import { extensionFolder, folderOf, median, memoryOf, runSql, startBoth } from "./load.mjs";

const CLIENTS = 30;
const SECONDS = Number(process.env.EIDER_BENCH_SECONDS ?? 20);
const extensions = extensionFolder("sqlite_scanner");

const field = (name, type, place = "query") =>
  `  - { field-name: ${name}, field-in: ${place}, ${place === "path" ? "required: true, " : ""}validators: [{ type: ${type} }] }\n`;
const endpoint = (path, sql, request, more = "") =>
  `url-path: ${path}\ntemplate-source: ${sql}\nconnection: shop\nrequest:\n${request}${more}`;
const filter = (name, condition) => `{{#params.${name}}} AND ${condition}{{/params.${name}}}\n`;
const folder = folderOf({});
const file = join(folder, "shop.sqlite");
const project = folderOf({
  "eider.yaml": `duckdb: { extension_directory: '${extensions}' }
mcp: { port: 0 }
connections:
  shop: { init: "LOAD sqlite; ATTACH IF NOT EXISTS '${file}' AS shop (TYPE sqlite)" }
`,
  "products.yaml": `${endpoint("/products", "products.sql", field("id", "int") + field("name", "string") + field("category", "int"))}mcp-tool: { name: products, description: The products }\n`,
  "product.yaml": endpoint("/products/:id", "products.sql", field("id", "int", "path"), "with-pagination: false\n"),
  "products.sql": `SELECT id, name, supplier, category, price, in_stock FROM shop.products WHERE true
${filter("id", "id = {{params.id}}")}${filter("name", "name LIKE '%{{{params.name}}}%'")}${filter("category", "category = {{params.category}}")}ORDER BY name\n`,
  "orders.yaml": endpoint("/orders", "orders.sql", field("customer", "string")),
  "orders.sql": `SELECT o.id, o.customer, o.day, o.freight, list({'product': l.product, 'price': l.price, 'quantity': l.quantity}) AS lines
FROM shop.orders o LEFT JOIN shop.order_lines l ON l.order_id = o.id WHERE true
${filter("customer", "o.customer = '{{{params.customer}}}'")}GROUP BY ALL ORDER BY o.day DESC, o.id\n`,
  "customers.yaml": endpoint("/customers", "customers.sql", field("country", "string")),
  "customers.sql": `SELECT id, company, country, city FROM shop.customers WHERE true
${filter("country", "country = '{{{params.country}}}'")}ORDER BY company\n`,
});

/** As many rows as in the well-known sample database. */
async function fill() {
  await runSql(
    extensions,
    `LOAD sqlite; ATTACH '${file}' AS shop (TYPE sqlite);
CREATE TABLE shop.products AS SELECT i + 1 AS id, 'Product ' || (i * 37) % 77 AS name, i % 29 AS supplier, i % 8 + 1 AS category,
  i * 1.25 AS price, i % 50 AS in_stock FROM range(77) r(i);
CREATE TABLE shop.customers AS SELECT 'C' || i AS id, 'Company ' || (i * 53) % 91 AS company, ['France', 'Germany', 'Spain'][i % 3 + 1] AS country,
  'City ' || i % 20 AS city FROM range(91) r(i);
CREATE TABLE shop.orders AS SELECT 10248 + i AS id, 'C' || i % 91 AS customer, DATE '1996-07-04' + (i // 2)::INT AS day, i * 0.5 AS freight
  FROM range(830) r(i);
CREATE TABLE shop.order_lines AS SELECT 10248 + i // 3 AS order_id, i % 77 + 1 AS product, i % 40 * 0.5 AS price, i % 9 + 1 AS quantity
  FROM range(2155) r(i)`,
  );
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const LIST_TOOLS = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: META } });
const MCP_HEADERS = {
  "Content-Type": "application/json",
  Accept: "application/json, text/event-stream",
  "MCP-Protocol-Version": "2026-07-28",
  "Mcp-Method": "tools/list",
};

/** Each kind of request with its share in percent. */
const KINDS = [
  [34, "list of products", () => ({ path: "/products" })],
  [16, "one product", (n) => ({ path: `/products/${(n % 77) + 1}` })],
  [12, "page of 10, filtered", (n) => ({ path: `/products?category=${(n % 8) + 1}&limit=10` })],
  [8, "500 orders as Arrow", () => ({ path: "/orders?limit=500&format=arrow" })],
  [8, "customers", () => ({ path: "/customers" })],
  [8, "tools/list", () => ({ path: "/mcp", base: service.mcp, body: LIST_TOOLS })],
  [11, "health", () => ({ path: "/health" })],
  [3, "unknown path", () => ({ path: "/nothing", status: 404 })],
];
/** 100 requests in the order in which each client sends them, the kinds mixed. */
const MIX = KINDS.flatMap(([share, name, of]) =>
  Array.from({ length: share }, (_, i) => ({ name, of, at: (i + 0.5) / share })),
).sort((a, b) => a.at - b.at);

await fill();
const service = await startBoth(project);

/** Sends one request over a kept connection, and reads its response to the end. */
function ask({ path, base = service.url, body, status = 200 }, agent) {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : MCP_HEADERS;
    const sent = request(
      new URL(path, base),
      { agent, headers, method: body === undefined ? "GET" : "POST" },
      (response) => {
        if (response.statusCode !== status) reject(new Error(`${path}: ${response.statusCode}`));
        response.on("end", resolve).on("error", reject).resume();
      },
    );
    sent.on("error", reject).end(body);
  });
}

/** Sends the mix with all clients for some seconds. Returns how long the requests of each kind took. */
async function mixedLoad(seconds) {
  const times = new Map(KINDS.map(([, name]) => [name, []]));
  const until = performance.now() + seconds * 1000;
  const client = async (_, number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let at = number * 37; performance.now() < until; at++) {
      const { name, of } = MIX[at % MIX.length];
      const began = performance.now();
      await ask(of(at), agent);
      times.get(name).push(performance.now() - began);
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return times;
}

const started = memoryOf(service.pid).now;
await mixedLoad(3);
const cpuBefore = service.cpu();
const began = performance.now();
const times = await mixedLoad(SECONDS);
const elapsed = performance.now() - began;
const cpu = service.cpu() - cpuBefore;
const count = [...times.values()].reduce((sum, each) => sum + each.length, 0);
console.log("| Kind | Requests | Median ms | 99th percentile ms |\n|---|---|---|---|");
for (const [name, each] of times) {
  const sorted = each.toSorted((a, b) => a - b);
  console.log(
    `| ${name} | ${each.length} | ${median(each).toFixed(1)} | ${sorted[Math.floor(sorted.length * 0.99)].toFixed(1)} |`,
  );
}
const memory = memoryOf(service.pid);
console.log(`
${CLIENTS} clients, ${SECONDS} s: ${Math.round((count / elapsed) * 1000)} requests/s, ${(cpu / count).toFixed(2)} ms CPU per request
Memory: ${Math.round(started)} MiB after start, ${Math.round(memory.now)} MiB at the end, at most ${Math.round(memory.most)} MiB`);
await service.stop();
