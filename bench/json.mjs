// Compares the JSON writer with what Node programs usually do: getRowObjectsJson and JSON.stringify.
// npm run build && node bench/json.mjs
// EIDER_BENCH_ROUNDS (default 7) sets the rounds after warm-up.

import { fileURLToPath } from "node:url";
import { DuckDBDataChunk, JsonDuckDBValueConverter } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";
import { loadChunk } from "../dist/engines/duckdb/load/load-vectors.js";
import { resultColumns } from "../dist/engines/duckdb/load/logical-type.js";
import { json } from "../dist/formats/json/json.js";
import { median, openContest, play, printTable } from "./compare.mjs";

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

/** The loop of getRowObjectsJson over fetched chunks. Creates new wrappers each time, because they cache what they read. */
function byRowObjects({ columns, chunks }) {
  const rows = [];
  for (const raw of chunks) {
    const chunk = new DuckDBDataChunk(raw);
    const count = chunk.rowCount;
    for (let row = 0; row < count; row++) {
      const object = {};
      chunk.visitRowValues(row, (value, _row, column, type) => {
        object[columns[column].name] = JsonDuckDBValueConverter(value, type, JsonDuckDBValueConverter);
      });
      rows.push(object);
    }
  }
  return Buffer.from(JSON.stringify(rows)).length;
}

function byWriter({ columns, chunks }) {
  const encoder = json.open(columns, { kind: "rows" });
  let bytes = 0;
  for (const chunk of chunks) bytes += encoder.encode(loadChunk(chunk, columns)).length;
  return bytes + encoder.end().length;
}

async function playVariant(serialize) {
  const connection = await duckdb.connect(await duckdb.open(":memory:"));
  await duckdb.query(connection, "SELECT setseed(0.5)");
  await duckdb.query(connection, TABLE);

  async function fetchRows(rows) {
    const result = await duckdb.query(connection, `SELECT * FROM t LIMIT ${rows}`);
    const chunks = [];
    for (;;) {
      const chunk = await duckdb.fetch_chunk(result);
      if (!chunk || duckdb.data_chunk_get_size(chunk) === 0) return { columns: resultColumns(result), chunks };
      chunks.push(chunk);
    }
  }

  const fetched = new Map();
  for (const rows of [100, 10_000, 200_000]) fetched.set(rows, await fetchRows(rows));
  play(async ({ what, rows, repeat }) => {
    let bytes = 0;
    for (let count = 0; count < repeat; count++) {
      bytes = serialize(what === "serialize" ? fetched.get(rows) : await fetchRows(rows));
    }
    return bytes;
  });
}

async function main() {
  const rounds = Number(process.env.EIDER_BENCH_ROUNDS ?? 7);
  const contest = await openContest(fileURLToPath(import.meta.url), ["base", "own"]);
  const lines = [];
  for (const what of ["serialize", "query to bytes"]) {
    for (const rows of [100, 10_000, 200_000]) {
      const repeat = 200_000 / rows;
      const { samples, ratio } = await contest.compare({ what, rows, repeat }, rounds);
      const each = (name, key) => median(samples.get(name).map((sample) => sample[key])) / repeat;
      const bytes = samples.get("own")[0].result;
      lines.push({
        what,
        rows,
        "base ms": each("base", "wall").toFixed(3),
        "own ms": each("own", "wall").toFixed(3),
        "base CPU ms": each("base", "cpu").toFixed(3),
        "own CPU ms": each("own", "cpu").toFixed(3),
        "own MB/s": (bytes / each("own", "wall") / 1000).toFixed(0),
        "x wall": ratio("wall", "own").toFixed(1),
        "x CPU": ratio("cpu", "own").toFixed(1),
      });
    }
  }
  contest.close();
  printTable(lines);
}

const variants = { base: byRowObjects, own: byWriter };
const variant = variants[process.argv[2]];
if (variant === undefined) await main();
else await playVariant(variant);
