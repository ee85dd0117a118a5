import { expect, test } from "vitest";
import type { ServiceEvent } from "../../src/events.ts";
import { logMessage } from "../../src/failure.ts";
import { statement } from "../../src/sql/statement.ts";
import { endpoint, serviceFrom, type TestService } from "../service.ts";

/** What the log says about calls that failed. */
function loggedFailures({ events }: TestService): readonly string[] {
  return events.flatMap((event: ServiceEvent) =>
    event.kind === "call-failed" && event.failure.kind === "query-failed" ? logMessage(event.failure) : [],
  );
}

const MAIN = "connections:\n  memory:\n    init: CREATE TABLE t AS SELECT 1 AS id, 'x' AS name\n";

test("the log lists the columns that exist, the response does not", async () => {
  await using service = await serviceFrom({ "eider.yaml": MAIN, ...endpoint("SELECT name FROM t") });
  await service.service.engine.write({
    connections: ["memory"],
    statements: [statement("ALTER TABLE t RENAME name TO title")],
    transaction: true,
    returnsData: false,
    signal: new AbortController().signal,
  });
  const message = 'Binder Error: Referenced column "name" not found in FROM clause!\nCandidate bindings: "title"';
  expect(await service.json("/x")).toEqual({ error: `Internal Server Error: ${message}` });
  expect(loggedFailures(service)).toEqual([`no column name in t; columns there: id, title; ${message}`]);
});

test("nor does the response list tables if the template is verified by its first call", async () => {
  await using service = await serviceFrom({
    "eider.yaml": MAIN,
    ...endpoint("SELECT id FROM later"),
    "later.yaml": "url-path: /later\nmethod: POST\ntemplate-source: later.sql\nconnection: [memory]\n",
    "later.sql": "CREATE TABLE later (id INT)",
  });
  const message = 'Catalog Error: Table with name later does not exist! Did you mean "pg_attrdef"?';
  expect(await service.json("/x")).toEqual({ error: `Internal Server Error: ${message}` });
  expect(loggedFailures(service)).toEqual([`no table later in the default database; tables there: t; ${message}`]);
});
