import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { sharedMoto } from "../moto.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { type Files, folderWith, run, start } from "../process/program.ts";
import { missingPython } from "../python.ts";

const SECRET = "n0t-for-logs";
const postgres = sharedPostgres();
const moto = sharedMoto();
const needsPostgres = testNeeding(missingPostgres, missingExtensions("postgres_scanner"));
const needsS3 = testNeeding(missingExtensions("httpfs"), missingPython("moto.server"));

/** The endpoint `/x` over the connection `db`, and one over none. */
function project(connections: string, sql: string, extensions: readonly string[] = []): Files {
  const settings =
    extensions.length === 0 ? "" : `duckdb: { extension_directory: '${extensionDirectory(...extensions)}' }\n`;
  return {
    "eider.yaml": `http-port: 0\nmetrics: { enabled: true, public: true }\n${settings}connections:\n  memory: {}\n${connections}\n`,
    "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: [db]\nwith-pagination: false\n",
    "x.sql": sql,
    "local.yaml": "url-path: /local\ntemplate-source: local.sql\nconnection: [memory]\nwith-pagination: false\n",
    "local.sql": "SELECT 1 AS a",
  };
}

interface Expected {
  readonly status: number;
  /** What Eider says when it starts, and `eider check` too. */
  readonly log: RegExp;
}

/** The service starts, serves what it can, and says what is wrong without a secret. */
async function expectStarted(files: Files, { status, log }: Expected): Promise<void> {
  await using program = await start(files);
  const url = await program.url();
  const shown: string[] = [];
  for (const path of ["/x", "/health/ready", "/metrics", "/local"]) {
    const answer = await fetch(url + path);
    shown.push(`${path} ${answer.status} ${await answer.text()}`);
  }
  expect(shown[0]).toMatch(new RegExp(`^/x ${status} `));
  expect(shown[3]).toBe('/local 200 [{"a":1}]');
  expect(program.stderr()).toMatch(log);
  const checked = await run(files, { args: ["check"] });
  shown.push(program.stdout(), program.stderr(), checked.stdout, checked.stderr);
  expect(checked.code).toBe(0);
  expect(checked.stderr).toMatch(log);
  expect(shown.join("\n")).not.toContain(SECRET);
}

function postgresAt(dsn: string): Files {
  return project(`  db: { type: postgres, dsn: ${JSON.stringify(dsn)} }`, "SELECT id FROM db.t", ["postgres_scanner"]);
}

needsPostgres("a wrong password", async () => {
  const server = await postgres();
  const database = await server.createDatabase();
  await expectStarted(postgresAt(database.replace(/password=.*/, `password=${SECRET}`)), {
    status: 503,
    log: /connection 'db' cannot be reached: .*password authentication failed/,
  });
});

needsPostgres("a host that does not exist", () =>
  expectStarted(postgresAt(`host=nowhere.invalid dbname=a user=b password=${SECRET}`), {
    status: 503,
    log: /connection 'db' cannot be reached: .*could not translate host name/,
  }),
);

needsPostgres("TLS that the server does not offer", async () => {
  const database = await (await postgres()).createDatabase();
  await expectStarted(postgresAt(`${database.replace(/password=.*/, `password=${SECRET}`)} sslmode=require`), {
    status: 503,
    log: /connection 'db' cannot be reached: .*server does not support SSL/,
  });
});

needsS3("a bucket that does not exist", async () => {
  const { url } = await moto();
  const address = `region: us-east-1, endpoint: ${url.replace("http://", "")}, url-style: path, use-ssl: "false"`;
  const init = "CREATE VIEW x AS FROM 's3://nowhere/x.parquet'";
  const db = `  db: { type: s3-secret, key-id: id, secret: ${SECRET}, ${address}, init: "${init}" }`;
  await expectStarted(project(db, "FROM x", ["httpfs"]), {
    status: 503,
    log: /connection 'db' cannot be reached: .*'s3:\/\/nowhere\/x.parquet'.*404/,
  });
});

test("a truncated Parquet file", async () => {
  await using folder = await folderWith({});
  const path = join(folder.path, "x.parquet");
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  await connection.run(`COPY (SELECT range AS id FROM range(10000)) TO '${path}'`);
  connection.closeSync();
  instance.closeSync();
  const bytes = await readFile(path);
  await writeFile(path, bytes.subarray(0, bytes.length >> 1));
  await expectStarted(project(`  db: { type: parquet, path: ${path} }`, "FROM db"), {
    status: 503,
    log: /connection 'db' cannot be reached: .*No magic bytes found at end of file .*x\.parquet/,
  });
});

needsPostgres("a database without the table: an error of the project, which names it", async () => {
  const database = await (await postgres()).createDatabase();
  for (const args of [["check"], ["serve"]]) {
    const { code, stderr } = await run(postgresAt(database), { args });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("x.sql:1:16: Catalog Error: Table with name t does not exist"),
    ]);
  }
});
