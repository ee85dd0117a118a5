import { expect, test } from "vitest";
import { failureOf, readOf, testEngine } from "../../test/suites/duckdb-engine.ts";
import type { ServiceEvent } from "../events.ts";
import { openConnectionStatus } from "./connection-status.ts";
import { followedEngine } from "./followed-engine.ts";

test("a connection that is lost is reported as down until a call succeeds", async () => {
  const connections = [
    { name: "pg", init: "SELECT 'postgres'", secrets: [] },
    { name: "other", init: undefined, secrets: [] },
  ];
  await using t = await testEngine("CREATE TABLE state (up BOOLEAN)", { connections });
  const events: ServiceEvent[] = [];
  const sources = openConnectionStatus(t.engine, (event) => events.push(event));
  const failed: string[] = [];
  const engine = followedEngine(t.engine, { sources, queryFailed: (message) => failed.push(message) });
  const read = async (names: readonly string[], sql: string): Promise<void> =>
    (await engine.read(readOf({ connections: names, statements: sql }))).close();
  const remote = "SELECT CASE WHEN up THEN 1 ELSE error('server closed the connection') END FROM state";
  await sources.open(["pg", "other"]);
  await t.sql("INSERT INTO state VALUES (false)");
  const gone = { kind: "connection-down", connection: "pg" };
  for (const _ of [1, 2]) expect((await failureOf(read(["pg", "other"], remote))).failure).toEqual(gone);
  const message = "Invalid Input Error: server closed the connection";
  expect([...sources.down()]).toEqual([["pg", message]]);
  expect(events).toEqual([{ ...gone, message }]);
  expect((await failureOf(read(["pg"], "SELECT error('something else')"))).failure.kind).toBe("query-failed");
  expect(failed).toEqual(["Invalid Input Error: something else"]);
  await read(["other"], "SELECT 1");
  await read([], "SELECT 1");
  expect([...sources.down().keys()]).toEqual(["pg"]);
  await t.sql("UPDATE state SET up = true");
  await read(["pg"], remote);
  expect([...sources.down()]).toEqual([]);
  expect(events.slice(1)).toEqual([{ kind: "connection-up", connection: "pg" }]);
});
