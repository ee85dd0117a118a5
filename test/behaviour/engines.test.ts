import { describe, test } from "vitest";
import { postgresEngine } from "../../src/engines/postgres/postgres.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { testEngine } from "../suites/duckdb-engine.ts";
import { engineSuite, ITEMS } from "../suites/engine.ts";

describe("DuckDB", () => {
  engineSuite(
    (name, run) => test(name, run),
    async () => {
      const { engine, [Symbol.asyncDispose]: dispose } = await testEngine(
        `${ITEMS}; INSERT INTO items SELECT i, 'n' || i FROM range(1, 5001) t(i)`,
      );
      const slow = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range <> b.range + 1";
      return { engine, connections: [], slow, [Symbol.asyncDispose]: dispose };
    },
  );
});

describe("Postgres", () => {
  const server = sharedPostgres();
  engineSuite(testNeeding(missingPostgres), async () => {
    const postgres = await server();
    const dsn = await postgres.createDatabase();
    await postgres.sql(dsn, `${ITEMS}; INSERT INTO items SELECT i, 'n' || i FROM generate_series(1, 5000) i`);
    const engine = postgresEngine.open({
      name: "crm",
      init: undefined,
      options: {
        host: "127.0.0.1",
        port: String(postgres.port),
        database: /dbname=(\w+)/.exec(dsn)?.[1],
        user: postgres.user,
        password: postgres.password,
        pool: "1",
      },
      readOnly: false,
      secrets: [],
      maxConcurrency: undefined,
      connectTimeoutMs: 10_000,
      maxValueBytes: 1 << 24,
      readFile: () => undefined,
      maxQueued: undefined,
    });
    await engine.openConnection("crm");
    return {
      engine,
      connections: ["crm"],
      slow: "SELECT pg_sleep(600)",
      [Symbol.asyncDispose]: () => engine.close(),
    };
  });
});
