import { expect, test } from "vitest";
import { failureOf, readOf, testEngine } from "../../test/suites/duckdb-engine.ts";
import type { ServiceEvent } from "../events.ts";
import { openConnectionStatus } from "./connection-status.ts";
import { observeEngine } from "./observe-engine.ts";

test("a connection that is lost is reported as down until a call succeeds", async () => {
  const connections = [
    { name: "pg", init: "SELECT 'postgres'", secrets: [] },
    { name: "other", init: undefined, secrets: [] },
  ];
  await using t = await testEngine("SET autoinstall_known_extensions = false; SET autoload_known_extensions = false", {
    connections,
  });
  const events: ServiceEvent[] = [];
  const connectionStatus = openConnectionStatus(
    () => t.engine,
    (event) => events.push(event),
  );
  const failed: string[] = [];
  const engine = observeEngine(t.engine, { connectionStatus, onQueryFailed: (message) => failed.push(message) });
  const read = async (names: readonly string[], sql: string): Promise<void> =>
    (await engine.read(readOf({ connections: names, statements: sql }))).close();
  // Without its extension, a remote file is out of reach.
  const remote = "FROM read_csv('https://127.0.0.1:1/a.csv')";
  await connectionStatus.open(["pg", "other"]);
  const gone = { kind: "connection-down", connection: "pg" };
  for (const _ of [1, 2]) expect((await failureOf(read(["pg", "other"], remote))).failure).toEqual(gone);
  const message = expect.stringMatching(/^Missing Extension Error: /);
  expect([...connectionStatus.down()]).toEqual([["pg", message]]);
  expect(events).toEqual([{ ...gone, message }]);
  expect((await failureOf(read(["pg"], "SELECT error('something else')"))).failure.kind).toBe("query-failed");
  expect(failed).toEqual(["Invalid Input Error: something else"]);
  await read(["other"], "SELECT 1");
  await read([], "SELECT 1");
  expect([...connectionStatus.down().keys()]).toEqual(["pg"]);
  await read(["pg"], "SELECT 1");
  expect([...connectionStatus.down()]).toEqual([]);
  expect(events.slice(1)).toEqual([{ kind: "connection-up", connection: "pg" }]);
});
