import { expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { testNeeding } from "../needing.ts";
import { start } from "./program.ts";

const mariaDb = sharedMariaDb();

// In a process of its own: DuckDB ends it when a prepared mysql_query runs a second time.
testNeeding(missingMariaDb, missingExtensions("mysql_scanner"))(
  "a template with mysql_query can be called again and again",
  async () => {
    const server = await mariaDb();
    const database = await server.createDatabase();
    await using program = await start({
      "eider.yaml": `http-port: 0\nduckdb: { extension_directory: '${extensionDirectory("mysql_scanner")}' }\nlimits: { max-concurrent-queries: 1 }\nconnections:\n  my: { type: mysql, host: 127.0.0.1, port: ${server.port}, user: root, database: ${database} }\n`,
      "q.yaml": "url-path: /q\ntemplate-source: q.sql\nconnection: my\nwith-pagination: false\n",
      "q.sql": "SELECT * FROM mysql_query('my', 'SELECT 1 AS x')",
    });
    const url = await program.url();
    for (let time = 0; time < 4; time++) {
      const response = await fetch(`${url}/q`);
      expect([response.status, await response.json()]).toEqual([200, [{ x: 1 }]]);
    }
  },
);
