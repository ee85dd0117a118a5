// The JSON writer against what a Node program does without it: getRowObjectsJson + JSON.stringify.
// npm run build && node bench/json.mjs [rounds]
//
// Ratios are taken within one round (the variants run one after the other, in turning order) and the median is shown.

import { DuckDBDataChunk, JsonDuckDBValueConverter } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";
import { columnsOf, loadChunk } from "../dist/engines/duckdb/load-vectors.js";
import { json } from "../dist/formats/json/json.js";
import { compare, printTable } from "./compare.mjs";

const ROUNDS = Number(process.argv[2] ?? 9);

const TABLE = `
  CREATE TABLE t AS SELECT
    i AS id,
    ((i * 7919 % 10000000) / 100)::DECIMAL(18, 2) AS amount,
    (random() * 1000)::DOUBLE AS score,
    'customer name number ' || (i * 31 % 9973) AS name,
    DATE '2015-01-01' + (i % 4000)::INTEGER AS day,
    TIMESTAMP '2020-01-01' + to_microseconds(i * 1234567891) AS created,
    i % 3 = 0 AS active,
    CASE WHEN i % 4 = 0 THEN NULL ELSE 'tag' || (i % 100) END AS tag
  FROM range(200000) r(i)`;

const database = await duckdb.open(":memory:");
const connection = await duckdb.connect(database);
await duckdb.query(connection, "SELECT setseed(0.5)");
await duckdb.query(connection, TABLE);

async function fetchAll(sql) {
  const result = await duckdb.query(connection, sql);
  const chunks = [];
  for (;;) {
    const chunk = await duckdb.fetch_chunk(result);
    if (!chunk || duckdb.data_chunk_get_size(chunk) === 0) break;
    chunks.push(chunk);
  }
  return { result, chunks };
}

/** The loop of getRowObjectsJson over chunks that are fetched already; fresh wrappers, since they keep what they read. */
function byRowObjects(names, chunks) {
  const rows = [];
  for (const raw of chunks) {
    const chunk = new DuckDBDataChunk(raw);
    const count = chunk.rowCount;
    for (let row = 0; row < count; row++) {
      const object = {};
      chunk.visitRowValues(row, (value, _row, column, type) => {
        object[names[column]] = JsonDuckDBValueConverter(value, type, JsonDuckDBValueConverter);
      });
      rows.push(object);
    }
  }
  return Buffer.from(JSON.stringify(rows));
}

function byWriter(columns, chunks) {
  const encoder = json.open(columns, { kind: "rows" });
  let bytes = 0;
  for (const chunk of chunks) bytes += encoder.encode(loadChunk(chunk, columns)).length;
  return bytes + encoder.end().length;
}

const lines = [];
for (const rows of [100, 10_000, 200_000]) {
  const sql = `SELECT * FROM t LIMIT ${rows}`;
  const { result, chunks } = await fetchAll(sql);
  const columns = columnsOf(result);
  const names = columns.map((column) => column.name);
  const bytes = byWriter(columns, chunks);
  const repeat = Math.max(1, Math.round(40_000 / rows));
  const serialised = await compare(
    {
      base: async () => {
        for (let count = 0; count < repeat; count++) byRowObjects(names, chunks);
      },
      own: async () => {
        for (let count = 0; count < repeat; count++) byWriter(columns, chunks);
      },
    },
    ROUNDS,
  );
  lines.push(line("serialise", rows, serialised, { repeat, bytes }));
  const whole = await compare(
    {
      base: async () => {
        for (let count = 0; count < repeat; count++) {
          const fetched = await fetchAll(sql);
          byRowObjects(names, fetched.chunks);
        }
      },
      own: async () => {
        for (let count = 0; count < repeat; count++) {
          const fetched = await fetchAll(sql);
          byWriter(columnsOf(fetched.result), fetched.chunks);
        }
      },
    },
    ROUNDS,
  );
  lines.push(line("query to bytes", rows, whole, { repeat, bytes }));
}
printTable(lines);

function line(what, rows, { wall, cpu, ratio, cpuRatio }, { repeat, bytes }) {
  return {
    what,
    rows,
    "base ms": (wall.base / repeat).toFixed(3),
    "own ms": (wall.own / repeat).toFixed(3),
    "own CPU ms": (cpu.own / repeat).toFixed(3),
    "own MB/s": ((bytes / wall.own / 1000) * repeat).toFixed(0),
    "x wall": ratio.toFixed(1),
    "x CPU": cpuRatio.toFixed(1),
  };
}
