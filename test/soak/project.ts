import type { Files } from "../process/program.ts";

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";

function read(name: string, sql: string, yaml = "with-pagination: false\n"): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [db]\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

const ID = "request:\n  - { field-name: id, field-in: query, default: 1, validators: [{ type: int, min: 0 }] }\n";

/** What a reload changes. */
export function reloadedFiles(state: number): Readonly<Record<string, string>> {
  return {
    "reloaded.yaml": `url-path: /reloaded\ntemplate-source: reloaded.sql\nconnection: [db]\nwith-pagination: false\ndescription: state ${state}\n`,
    "reloaded.sql": `SELECT ${state} AS state`,
  };
}

/** A bit of everything. Tables do not grow: whatever does is not theirs. */
export const SOAK_PROJECT: Files = {
  "eider.yaml": `http-port: 0
metrics: { public: true }
mcp: { port: 0 }
duckdb: { db_path: ./data.duckdb, checkpoint_threshold: 256KB, max_memory: 256MB, threads: 2 }
cache: { path: ./cache.duckdb, max-bytes: 4MiB }
limits: { max-concurrent-queries: 8, max-queued-requests: 1000, query-timeout: 20s }
log: { level: info }
audit: { path: ./audit.log }
rate-limit: { max: 1000000, interval: 60 }
connections:
  db:
    init: |
      CREATE OR REPLACE TABLE items AS SELECT range AS id, 'item number ' || range AS name, range / 7 AS price, DATE '2020-01-01' + (range % 2000)::INTEGER AS day FROM range(20000);
      CREATE TABLE IF NOT EXISTS orders (id INTEGER, item INTEGER, text VARCHAR);
`,
  ...read("item", "SELECT * FROM items WHERE id = {{params.id}}", `with-pagination: false\n${ID}`),
  ...read("page", "SELECT * FROM items WHERE id >= {{params.id}} ORDER BY id", ID),
  ...read(
    "rows",
    "SELECT * FROM items WHERE id >= {{params.id}} AND id < {{params.id}} + 2000",
    `with-pagination: false\n${ID}`,
  ),
  ...read("long", "SELECT i.* FROM items i, range(20) r"),
  ...read(
    "cached",
    `SELECT count(*)::INTEGER AS n, count(DISTINCT run)::INTEGER AS runs FROM ${TABLE}`,
    "with-pagination: false\ncache: { table: c, template-file: refresh.sql, schedule: 1s, retention: { keep-last-snapshots: 2 } }\n",
  ),
  "refresh.sql": "SELECT range AS i, (SELECT gen_random_uuid()::VARCHAR) AS run FROM range(5000)",
  ...read(
    "kept",
    "SELECT id, name FROM items WHERE id % 500 = {{params.id}}",
    `with-pagination: false\n${ID}cache: { table: kept, schedule: 2s }\n`,
  ),
  ...read("broken", "SELECT error('this template always fails') AS n"),
  ...read("refused", "SELECT error('403: not yours') AS n"),
  "write.yaml":
    "url-path: /orders\nmethod: POST\ntemplate-source: write.sql\nconnection: [db]\nrequest:\n  - { field-name: item, field-in: body, required: true, validators: [{ type: int }] }\n  - { field-name: text, field-in: body, validators: [{ type: string, max: 200 }] }\n",
  // The oldest go when new ones come.
  "write.sql":
    "DELETE FROM orders WHERE id < (SELECT coalesce(max(id), 0) FROM orders) - 500; INSERT INTO orders SELECT coalesce(max(id), 0) + 1, {{params.item}}, '{{{params.text}}}' FROM orders",
  "private.yaml":
    "url-path: /private\ntemplate-source: private.sql\nconnection: [db]\nwith-pagination: false\nauth: { type: bearer, token: a-token-of-the-soak-run-that-nobody-guesses }\n",
  "private.sql": "SELECT 1 AS n",
  "tool.yaml": `mcp-tool: { name: find_items, description: Finds items by their number }\ntemplate-source: tool.sql\nconnection: [db]\nrequest:\n  - { field-name: id, field-in: query, description: the first one, validators: [{ type: int }] }\n`,
  "tool.sql": "SELECT * FROM items WHERE id >= {{params.id}} LIMIT 20",
  ...reloadedFiles(0),
};
