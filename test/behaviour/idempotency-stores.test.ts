import { describe, expect } from "vitest";
import { testNeeding } from "../needing.ts";
import { folderWith } from "../process/program.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { type Answer, answerOf, readOf } from "../suites/duckdb-engine.ts";
import { recordStores } from "../suites/record-stores.ts";

const FIELDS =
  "request:\n  - { field-name: id, field-in: body, required: true, validators: [{ type: int }] }\n  - { field-name: name, field-in: body, required: true }\n";

function endpoint(name: string, sql: string, yaml: string): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: store\nwith-pagination: false\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

const init = (prefix: string): string =>
  ["t", "u", "gate"]
    .map((table) => `CREATE TABLE IF NOT EXISTS ${prefix}${table} (id INTEGER, name VARCHAR)`)
    .join("; ");

function project(main: string, prefix: string): Files {
  const row = "({{params.id}}, '{{{params.name}}}')";
  return {
    "eider.yaml": main,
    ...endpoint("add", `INSERT INTO ${prefix}t VALUES ${row}`, `method: POST\n${FIELDS}`),
    ...endpoint(
      "both",
      `INSERT INTO ${prefix}t VALUES ${row}; INSERT INTO ${prefix}u SELECT id, name FROM ${prefix}t`,
      `method: POST\n${FIELDS}`,
    ),
    ...endpoint(
      "each",
      `SET VARIABLE v = {{params.id}};
CREATE TEMP TABLE kept AS SELECT 100 AS more;
INSERT INTO ${prefix}t VALUES ${row};
SELECT CASE WHEN (SELECT count(*) FROM ${prefix}gate) = 0 THEN error('409: closed') END;
INSERT INTO ${prefix}u SELECT getvariable('v') + more, 'each' FROM kept;
SELECT getvariable('v') AS v`,
      `method: POST\noperation: { transaction: false, returns-data: true }\n${FIELDS}`,
    ),
    ...endpoint("open", `INSERT INTO ${prefix}gate VALUES (1, 'open')`, "method: POST\n"),
    ...endpoint("t", `SELECT id, name FROM ${prefix}t ORDER BY id, name`, ""),
    ...endpoint("u", `SELECT id, name FROM ${prefix}u ORDER BY id, name`, ""),
  };
}

interface Sent {
  readonly id: number;
  readonly name: string;
  readonly key: string;
}

async function post(service: TestService, path: string, { id, name, key }: Sent): Promise<[number, unknown]> {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
  const response = await service.request(path, { method: "POST", headers, body: JSON.stringify({ id, name }) });
  return [response.status, await response.json()];
}

const HASH = expect.stringMatching(/^[0-9a-f]{64}$/);

async function recordsIn(service: TestService, table: string): Promise<Answer> {
  return await answerOf(
    await service.service.engine.read(readOf({ connections: ["store"], statements: `SELECT * FROM ${table}` })),
  );
}

const ONE_ROW: [number, unknown] = [200, { rows_affected: 1 }];

describe.each(recordStores().filter(({ isEngine }) => isEngine !== true))(
  "$name",
  ({ missing, shared, main: mainOf, prefix }) => {
    const needsStore = testNeeding(missing);

    // One test for both kinds of writes: what costs time is to start the service and to connect to the store.
    needsStore("a write that is sent again is run once, also after a restart", async () => {
      await using data = await folderWith({});
      const files = project(await mainOf(data.path, init), prefix);
      {
        await using service = await serviceFrom(files);
        expect(await post(service, "/add", { id: 1, name: "something private", key: "the-key-itself" })).toEqual(
          ONE_ROW,
        );
        expect(await recordsIn(service, `${prefix}eider_idempotency_keys`)).toEqual({
          columns: ["id", "request", "changed", "response", "since"],
          // Nothing that the client said.
          rows: [[HASH, HASH, 1, '{"rows_affected":1}', expect.any(Number)]],
        });
        expect(await post(service, "/add", { id: 1, name: "something private", key: "the-key-itself" })).toEqual(
          ONE_ROW,
        );
        expect(await post(service, "/both", { id: 2, name: "b", key: "k" })).toEqual([200, { rows_affected: 3 }]);
        // Without a transaction: the first of its statements stays.
        for (let time = 0; time < 2; time++) {
          expect(await post(service, "/each", { id: 7, name: "e", key: "k" })).toEqual([409, { error: "closed" }]);
        }
        expect(await service.json("/t")).toEqual([
          { id: 1, name: "something private" },
          { id: 2, name: "b" },
          { id: 7, name: "e" },
        ]);
        expect((await post(service, "/each", { id: 8, name: "e", key: "k" }))[0]).toBe(422);
      }
      await using service = await serviceFrom(files);
      expect(await post(service, "/add", { id: 1, name: "something private", key: "the-key-itself" })).toEqual(ONE_ROW);
      expect(await post(service, "/both", { id: 2, name: "b", key: "k" })).toEqual([200, { rows_affected: 3 }]);
      expect((await post(service, "/add", { id: 2, name: "a", key: "the-key-itself" }))[0]).toBe(422);
      expect(await post(service, "/add", { id: 3, name: "a", key: "other" })).toEqual(ONE_ROW);
      expect((await service.request("/open", { method: "POST" })).status).toBe(200);
      // It goes on behind what is committed.
      for (let time = 0; time < 2; time++) {
        expect(await post(service, "/each", { id: 7, name: "e", key: "k" })).toEqual([
          200,
          { rows_affected: 2, data: [{ v: 7 }] },
        ]);
      }
      expect(await service.json("/t")).toEqual([
        { id: 1, name: "something private" },
        { id: 2, name: "b" },
        { id: 3, name: "a" },
        { id: 7, name: "e" },
      ]);
      expect(await service.json("/u")).toEqual([
        { id: 1, name: "something private" },
        { id: 2, name: "b" },
        { id: 107, name: "each" },
      ]);
    });

    if (!shared) return;
    needsStore("two replicas that get the same requests at once run each of them once", async () => {
      await using data = await folderWith({});
      const files = project(await mainOf(data.path, init), prefix);
      await using one = await serviceFrom(files);
      await using two = await serviceFrom(files);
      await one.request("/open", { method: "POST" });
      const ids = Array.from({ length: 6 }, (_, id) => id);
      const responses = await Promise.all(
        ids.flatMap((id) => [one, two].map((service) => post(service, "/add", { id, name: "a", key: `k${id}` }))),
      );
      expect(new Set(responses.map((response) => JSON.stringify(response)))).toEqual(
        new Set([JSON.stringify(ONE_ROW)]),
      );
      expect(await one.json("/t")).toEqual(ids.map((id) => ({ id, name: "a" })));
      const each = await Promise.all(
        ids.flatMap((id) => [one, two].map((service) => post(service, "/each", { id, name: "each", key: `k${id}` }))),
      );
      expect(new Set(each.map(([status]) => status))).toEqual(new Set([200]));
      expect(await one.json("/u")).toEqual(ids.map((id) => ({ id: id + 100, name: "each" })));
      expect(await two.json("/t")).toHaveLength(12);
    });
  },
);
