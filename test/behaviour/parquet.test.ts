import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { get as httpGet } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { endpoint, serviceFrom, type TestService } from "../service.ts";
import { countParquet, readParquet } from "../suites/parquet-file.ts";
import { until } from "../until.ts";

const TYPE = "application/vnd.apache.parquet";

const rest = (path: string, sql: string, yaml = ""): Record<string, string> => ({
  [`${path}.yaml`]: `url-path: /${path}\ntemplate-source: ${path}.sql\nconnection: [memory]\n${yaml}`,
  [`${path}.sql`]: sql,
});

const ALL = "with-pagination: false\n";

/** For the spool, and for the files that the test receives. */
let temporary: string;
let service: TestService;

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), "eider-test-"));
  service = await serviceFrom({
    "eider.yaml": `connections:\n  memory: {}\nduckdb:\n  temp_directory: ${join(temporary, "database")}\n`,
    ...rest("numbers", "SELECT range AS n FROM range(250) ORDER BY n"),
    ...rest("own", "SELECT range AS n FROM range(250) ORDER BY n LIMIT {{params.limit}} OFFSET {{params.offset}}"),
    ...rest("bare", "SELECT range AS n FROM range(250) ORDER BY n", ALL),
    ...rest("sums", "SELECT sum(range) AS s, INTERVAL '1 day' AS i FROM range(250)", ALL),
    ...rest("types", "FROM test_all_types()", ALL),
    ...rest("large", "SELECT md5(range::VARCHAR) AS m FROM range(400000)", ALL),
    ...rest("endless", "SELECT a.range AS n FROM range(1000000000) a, range(1000000000) b", ALL),
    ...rest("fails", "SELECT CAST('x' || range AS INT) AS n FROM range(3)", ALL),
    ...rest("refuses", "SELECT error('403: not yours')", ALL),
    ...rest("pragma", "PRAGMA database_list", ALL),
    ...rest(
      "search",
      "SELECT '{{{params.q}}}' AS q",
      "with-pagination: false\nrequest:\n  - { field-name: q, field-in: query, validators: [{ type: string }] }\n",
    ),
    "item.yaml":
      "url-path: /shops/:shop/items/:id\ntemplate-source: item.sql\nconnection: [memory]\nrequest:\n  - { field-name: shop, field-in: path }\n  - { field-name: id, field-in: path }\n",
    "item.sql": "SELECT '{{{params.id}}}' AS id, '{{{params.shop}}}' AS shop",
  });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  // The folder of the process goes with it.
  expect(spoolFolders()).toEqual([]);
  await rm(temporary, { recursive: true });
});

function spoolFolders(): readonly string[] {
  const parent = join(temporary, "database");
  return existsSync(parent) ? readdirSync(parent).filter((name) => name.startsWith("eider-spool-")) : [];
}

/** Names of files in the spool. */
function spooled(): readonly string[] {
  return spoolFolders().flatMap((folder) => readdirSync(join(temporary, "database", folder)));
}

beforeEach(() => expect(spooled()).toEqual([]));

async function saved(answer: Response): Promise<string> {
  expect([answer.status, answer.headers.get("Content-Type")]).toEqual([200, TYPE]);
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect(answer.headers.get("Content-Length")).toBe(String(bytes.length));
  const path = join(temporary, "received.parquet");
  await writeFile(path, bytes);
  return path;
}

const contentOf = async (answer: Response) => await readParquet(await saved(answer));

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => [String(from + i)]);

test.each([
  ["/numbers?format=parquet", numbers(0, 100), "/numbers?format=parquet&offset=100", "100", "0"],
  ["/numbers?format=PARQUET&limit=7&offset=245", numbers(245, 250), "", "7", "245"],
  ["/numbers?limit=0&format=parquet", [], "", "0", "0"],
  ["/numbers?offset=300&format=parquet", [], "", "100", "300"],
  ["/own?format=parquet&limit=3&offset=10", numbers(10, 13), "/own?format=parquet&limit=3&offset=13", "3", "10"],
])("%s is a page, and the headers tell the rest", async (path, rows, next, limit, offset) => {
  const answer = await service.get(path);
  const names = ["X-Total-Count", "X-Limit", "X-Offset", "X-Next"];
  expect(names.map((name) => answer.headers.get(name))).toEqual(["250", limit, offset, next]);
  expect(await contentOf(answer)).toEqual({ names: ["n"], types: ["BIGINT"], rows });
});

test.each([[{ Accept: TYPE }], [{ Accept: `text/csv;q=0.5, ${TYPE}` }], [{ Accept: "application/x-parquet" }]])(
  "asked for by %o",
  async (headers) => {
    const { rows } = await contentOf(await service.get("/bare", headers));
    expect(rows).toEqual(numbers(0, 250));
  },
);

test("without pages all rows come, or the part that was asked for, without headers of pages", async () => {
  const answer = await service.get("/bare?format=parquet&limit=5&offset=10");
  expect(answer.headers.get("X-Total-Count")).toBeNull();
  expect((await contentOf(answer)).rows).toEqual(numbers(10, 15));
});

test("sums are numbers; every type of the database is there", async () => {
  const { types, rows } = await contentOf(await service.get("/sums?format=parquet"));
  expect([types, rows]).toEqual([["DECIMAL(38,0)", "VARCHAR"], [["31125", "P1D"]]]);
  const all = await contentOf(await service.get("/types?format=parquet"));
  expect([all.names.length > 50, all.rows.length]).toEqual([true, 3]);
});

test("a value stays a value", async () => {
  const text = "O'Brien $1";
  const { rows } = await contentOf(await service.get(`/search?format=parquet&q=${encodeURIComponent(text)}`));
  expect(rows).toEqual([[text]]);
});

test.each([
  ["/numbers", "numbers"],
  ["/shops/a%22b/items/..%2F7", "items"],
])("%s is saved as %s.parquet", async (path, name) => {
  const answer = await service.get(`${path}?format=parquet`);
  expect(answer.headers.get("Content-Disposition")).toBe(`attachment; filename="${name}.parquet"`);
  await contentOf(answer);
});

test("HEAD has the same headers and no body", async () => {
  const get = await service.get("/numbers?format=parquet");
  const head = await service.request("/numbers?format=parquet", { method: "HEAD" });
  const headersOf = ({ headers }: Response) =>
    Object.fromEntries(
      [...headers].filter(([name]) => !["date", "x-request-id", "connection", "keep-alive"].includes(name)),
    );
  expect(headersOf(head)).toEqual(headersOf(get));
  expect([head.status, (await head.arrayBuffer()).byteLength]).toEqual([200, 0]);
  await get.arrayBuffer();
});

test.each([
  ["/fails", 500, { error: expect.stringMatching(/^Internal Server Error: Conversion Error/) }],
  ["/refuses", 403, { error: "not yours" }],
  [
    "/pragma",
    400,
    {
      errors: [
        { field: "format", message: "Not available as parquet: the last statement of the template is no query" },
      ],
    },
  ],
  ["/numbers?limit=x", 400, { errors: [{ field: "limit", message: "Invalid integer value" }] }],
])("%s fails as JSON, and leaves no file", async (path, status, body) => {
  const answer = await service.get(`${path}${path.includes("?") ? "&" : "?"}format=parquet`);
  expect([answer.status, answer.headers.get("Content-Type")]).toEqual([status, "application/json"]);
  expect(answer.headers.get("Content-Disposition")).toBeNull();
  expect(await answer.json()).toEqual(body);
  expect(spooled()).toEqual([]);
});

test("while it is sent it has no name; who leaves midway leaves nothing", async () => {
  await new Promise<void>((resolve, reject) => {
    const request = httpGet(`${service.url}/large?format=parquet`, (response) => {
      expect(Number(response.headers["content-length"])).toBeGreaterThan(10_000_000);
      response.once("data", () => {
        expect(spooled()).toEqual([]);
        request.destroy();
      });
      response.once("close", resolve);
      response.on("error", () => {});
    });
    request.once("error", reject);
  });
  await until("the query has ended", () => service.service.engine.activity().running === 0);
  expect(await countParquet(await saved(await service.get("/large?format=parquet")))).toBe("400000");
});

test("who leaves while it is written stops the query, and leaves nothing", async () => {
  const controller = new AbortController();
  const answer = service.request("/endless?format=parquet", { signal: controller.signal }).catch(() => "left");
  await until("the file is being written", () => spooled().length > 0);
  expect(service.service.engine.activity().running).toBe(1);
  controller.abort();
  expect(await answer).toBe("left");
  await until("all is gone", () => service.service.engine.activity().running === 0 && spooled().length === 0);
});

test("a query that takes too long is 504, and leaves nothing", async () => {
  await using slow = await serviceFrom({
    "eider.yaml": `connections:\n  memory: {}\nduckdb:\n  temp_directory: ${join(temporary, "database")}\nlimits:\n  query-timeout: 1s\n`,
    ...endpoint("SELECT a.range AS n FROM range(1000000000) a, range(1000000000) b"),
  });
  const answer = await slow.get("/x?format=parquet");
  expect([answer.status, answer.headers.get("Content-Type")]).toEqual([504, "application/json"]);
  expect(spooled()).toEqual([]);
});

test("without access to files the spool still works", async () => {
  await using shut = await serviceFrom({
    "eider.yaml": "connections:\n  memory: {}\nduckdb:\n  enable_external_access: false\n",
    ...endpoint("SELECT 1 AS a"),
  });
  expect((await contentOf(await shut.get("/x?format=parquet"))).rows).toEqual([["1"]]);
});

test("a spool that cannot be used is a failure that says so, without its path", async () => {
  const blocked = join(temporary, "blocked");
  await writeFile(blocked, "");
  await using broken = await serviceFrom({
    "eider.yaml": `connections:\n  memory: {}\nduckdb:\n  temp_directory: ${blocked}\n`,
    ...endpoint("SELECT 1 AS a"),
  });
  const answer = await broken.get("/x?format=parquet");
  expect(answer.status).toBe(500);
  const { error } = (await answer.json()) as { error: string };
  expect(error).toMatch(/^Internal Server Error: the spool .*: it is not a folder$/);
  expect(error).not.toContain(temporary);
  expect((await broken.get("/x")).status).toBe(200);
});
