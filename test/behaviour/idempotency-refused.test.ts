import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { folderWith, runHere } from "../process/program.ts";
import { type Files, problemsFrom, serviceFrom } from "../service.ts";
import { outcome, send } from "./write-project.ts";

const REFUSED = [
  400,
  { errors: [{ field: "Idempotency-Key", message: "Idempotency keys are not supported by this endpoint" }] },
];
const KEY = { "Idempotency-Key": "k" };

function write(name: string, sql: string, yaml = ""): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\nmethod: POST\ntemplate-source: ${name}.sql\nconnection: store\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

const attach = (folder: string): string =>
  ["one", "two"]
    .map((name) => `ATTACH '${join(folder, name)}.duckdb' AS ${name}; CREATE TABLE ${name}.t (i INTEGER)`)
    .join("; ");

const project = (folder: string): Files => ({
  "eider.yaml": `http-port: 0\nconnections:\n  store: { init: ${JSON.stringify(attach(folder))} }\n`,
  ...write("both", "INSERT INTO one.t VALUES (1); INSERT INTO two.t VALUES (1)", "operation: { transaction: false }\n"),
  ...write("one", "INSERT INTO one.t VALUES (1)"),
  "t.yaml": "url-path: /t\ntemplate-source: t.sql\nconnection: store\nwith-pagination: false\n",
  "t.sql": "SELECT count(*) AS n FROM one.t",
});

describe("an endpoint that changes two databases", () => {
  test("refuses a key with 400, and runs without one", async () => {
    await using data = await folderWith({});
    await using service = await serviceFrom(project(data.path));
    expect(await outcome(service, "POST /both", {}, KEY)).toEqual(REFUSED);
    expect(await service.json("/t")).toEqual([{ n: 0 }]);
    expect(await outcome(service, "POST /both", {})).toEqual([200, { rows_affected: 2 }]);
    expect(await outcome(service, "POST /one", {}, KEY)).toEqual([200, { rows_affected: 1 }]);
  });

  test("says so in the log when the project is loaded, and in OpenAPI", async () => {
    await using data = await folderWith({});
    await using service = await serviceFrom(project(data.path));
    expect(service.events.filter(({ kind }) => kind === "keys-refused")).toEqual([
      { kind: "keys-refused", endpoint: "POST /both", reason: "it changes several databases, 'one' and 'two'" },
    ]);
    const { paths } = JSON.parse((await send(service, "GET /openapi.json")).text);
    const names = (path: string): unknown[] => paths[path].post.parameters ?? [];
    expect(names("/one")).toEqual([{ $ref: "#/components/parameters/idempotencyKey" }]);
    expect(names("/both")).toEqual([]);
    expect(Object.keys(paths["/one"].post.responses)).toContain("422");
    expect(Object.keys(paths["/both"].post.responses)).not.toContain("422");
  });

  test("is no problem for check", async () => {
    await using data = await folderWith({});
    expect(await problemsFrom(project(data.path))).toEqual([]);
    await using again = await folderWith({});
    expect(await runHere(project(again.path), { args: ["check", "--strict"] })).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("what is only found out when it runs", () => {
  const postgres = sharedPostgres();
  const needsPostgres = testNeeding(missingPostgres, missingExtensions("postgres_scanner"));
  needsPostgres("a user who may not create the table: 400 until an administrator has created it", async () => {
    const server = await postgres();
    const dsn = await server.createDatabase();
    await server.sql(
      dsn,
      `CREATE TABLE t (i INTEGER); DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN PASSWORD 'guest-password'; GRANT ALL ON t TO guest; REVOKE CREATE ON SCHEMA public FROM PUBLIC`,
    );
    const database = /dbname=(\w+)/.exec(dsn)?.[1];
    await using service = await serviceFrom({
      "eider.yaml": `duckdb: { extension_directory: '${extensionDirectory("postgres_scanner")}' }\nconnections:\n  store: { type: postgres, host: 127.0.0.1, port: ${server.port}, database: ${database}, user: guest, password: guest-password }\n`,
      ...write("add", "INSERT INTO store.t VALUES (1)"),
    });
    expect(await outcome(service, "POST /add", {}, KEY)).toEqual(REFUSED);
    expect(await server.sql(dsn, "SELECT count(*) FROM t")).toBe("0");
    await server.sql(
      dsn,
      "CREATE TABLE eider_idempotency_keys (id VARCHAR PRIMARY KEY, request VARCHAR, changed BIGINT, response VARCHAR, since BIGINT); GRANT ALL ON eider_idempotency_keys TO guest",
    );
    for (let time = 0; time < 2; time++) {
      expect(await outcome(service, "POST /add", {}, KEY)).toEqual([200, { rows_affected: 1 }]);
    }
    expect(await server.sql(dsn, "SELECT count(*) FROM t")).toBe("1");
  });
});
