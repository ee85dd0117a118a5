import { expect } from "vitest";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { postgresConnection, serveOverPostgres } from "../postgres-engine.ts";
import { endpoint, problemsFrom } from "../service.ts";
import { until } from "../until.ts";

const test = testNeeding(missingPostgres);
const server = sharedPostgres();

const SETUP =
  "CREATE TABLE sales (id int PRIMARY KEY, at timestamp, amount numeric(10,2), tags text[]); " +
  "INSERT INTO sales SELECT i, timestamp '2024-01-01' + i * interval '1 hour', i * 1.25, ARRAY['t' || i, NULL] FROM generate_series(1, 5000) i";
const TABLE =
  "cache: { table: sales, schema: shop, template-file: refresh.sql, schedule: 1h }\nwith-pagination: false\n";
const READ =
  "SELECT count(*) AS n, sum(amount) AS total, max(tags[1]) AS tag, max(q.at) AS last FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}} q";

test("a cache table over Postgres is filled there and read in DuckDB", async () => {
  const postgres = await server();
  await using service = await serveOverPostgres(postgres, {
    setup: SETUP,
    files: { ...endpoint(READ, TABLE), "refresh.sql": "SELECT *, amount::text ~ '^1' AS one FROM sales WHERE id > 0" },
  });
  const rows = [{ n: 5000, total: 15628125, tag: "t999", last: "2024-07-27T08:00:00" }];
  expect(await service.json("/x")).toEqual(rows);
  await postgres.sql(service.dsn, "DELETE FROM sales");
  expect(await service.json("/x")).toEqual(rows);
});

test("a cache table with a cursor adds the rows that are new in Postgres", async () => {
  const postgres = await server();
  await using service = await serveOverPostgres(postgres, {
    setup: SETUP,
    files: {
      ...endpoint(
        READ,
        TABLE.replace("schedule: 1h", "schedule: 1s, primary-key: [id], cursor: { column: at, type: timestamp }"),
      ),
      "refresh.sql":
        "SELECT * FROM sales {{#cache.previousSnapshotTimestamp}}WHERE at > {{cache.previousSnapshotTimestamp}}{{/cache.previousSnapshotTimestamp}}",
    },
  });
  expect(await service.json("/x")).toMatchObject([{ n: 5000 }]);
  await postgres.sql(
    service.dsn,
    "DELETE FROM sales WHERE id < 100; INSERT INTO sales VALUES (9000, '2025-01-01', 1, NULL)",
  );
  await until("the refresh", async () => {
    const [row] = (await service.json("/x")) as readonly { readonly n: number; readonly last: string }[];
    return row?.n === 5001 && row.last === "2025-01-01T00:00:00";
  });
});

test("results over Postgres are cached", async () => {
  const postgres = await server();
  await using service = await serveOverPostgres(postgres, {
    setup: SETUP,
    files: endpoint(
      "SELECT id, amount, tags FROM sales WHERE id <= {{params.id}} ORDER BY id",
      "request: [{ field-name: id, field-in: query, validators: [{ type: int }] }]\ncache: { schedule: 1h }\n",
    ),
  });
  const first = await (await service.get("/x?id=3&limit=2")).text();
  expect(JSON.parse(first)).toMatchObject({
    data: [
      { id: 1, amount: 1.25, tags: ["t1", null] },
      { id: 2, amount: 2.5, tags: ["t2", null] },
    ],
    total_count: 3,
  });
  await postgres.sql(service.dsn, "DELETE FROM sales");
  expect(await (await service.get("/x?id=3&limit=2")).text()).toBe(first);
});

test("problems of refreshes over Postgres", async () => {
  const postgres = await server();
  const dsn = await postgres.createDatabase();
  await postgres.sql(dsn, SETUP);
  const problems = (refresh: string, read = READ): Promise<string[]> =>
    problemsFrom({ "eider.yaml": postgresConnection(postgres, dsn), ...endpoint(read, TABLE), "refresh.sql": refresh });
  expect(await problems("SELECT * FROM sale")).toEqual([expect.stringMatching(/^refresh.sql:1:15: relation "sale"/)]);
  expect(await problems("DELETE FROM sales")).toEqual([expect.stringContaining("write only a SELECT")]);
  expect(await problems("SELECT id FROM sales", `${READ} WHERE amount > 1`)).toEqual([
    expect.stringContaining("amount"),
  ]);
});
