// Compares the Arrow writer with the JSON writer and with the builders of apache-arrow.
// npm run build && node bench/arrow.mjs
// EIDER_BENCH_ROUNDS (default 7) sets the rounds after warm-up.

import { fileURLToPath } from "node:url";
import { DuckDBDataChunk } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";
import * as apache from "apache-arrow";
import { loadChunk } from "../dist/engines/duckdb/load/load-vectors.js";
import { resultColumns } from "../dist/engines/duckdb/load/logical-type.js";
import { arrow } from "../dist/formats/arrow/arrow.js";
import { json } from "../dist/formats/json/json.js";
import { median, openContest, play, printTable } from "./compare.mjs";

/** The same as in json.mjs. */
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

/** The Arrow type of each column, and the cheapest conversion of its values. Decimals become doubles. */
const APACHE_COLUMNS = [
  [new apache.Int64(), (value) => value],
  [new apache.Float64(), (value) => Number(value.value) / 100],
  [new apache.Float64(), (value) => value],
  [new apache.Utf8(), (value) => value],
  [new apache.DateDay(), (value) => value.days * 86_400_000],
  [new apache.TimestampMillisecond(), (value) => Number(value.micros / 1000n)],
  [new apache.Bool(), (value) => value],
  [new apache.Utf8(), (value) => value],
];

function byApache({ columns, chunks }) {
  const values = columns.map(() => []);
  for (const raw of chunks) {
    const chunk = new DuckDBDataChunk(raw);
    chunk.visitColumns((column, index) => {
      const [, convert] = APACHE_COLUMNS[index];
      for (const value of column) values[index].push(value === null ? null : convert(value));
    });
  }
  const vectors = columns.map(({ name }, index) => [
    name,
    apache.vectorFromArray(values[index], APACHE_COLUMNS[index][0]),
  ]);
  return apache.tableToIPC(new apache.Table(Object.fromEntries(vectors)), "stream").length;
}

function byWriter(format, codec) {
  return ({ columns, chunks }) => {
    const encoder = format.open(columns, { kind: "rows" }, codec);
    let bytes = 0;
    for (const chunk of chunks) bytes += encoder.encode(loadChunk(chunk, columns)).length;
    return bytes + encoder.end().length;
  };
}

async function playVariant(serialise) {
  await Promise.all(arrow.codecs.map((codec) => arrow.prepare(codec)));
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
  play(({ rows, repeat }) => {
    let bytes = 0;
    for (let count = 0; count < repeat; count++) bytes = serialise(fetched.get(rows));
    return bytes;
  });
}

const variants = {
  json: byWriter(json),
  arrow: byWriter(arrow),
  lz4: byWriter(arrow, "lz4"),
  zstd: byWriter(arrow, "zstd"),
  apache: byApache,
};

async function main() {
  const rounds = Number(process.env.EIDER_BENCH_ROUNDS ?? 7);
  const names = Object.keys(variants);
  const contest = await openContest(fileURLToPath(import.meta.url), names);
  const lines = [];
  for (const rows of [100, 10_000, 200_000]) {
    const repeat = 200_000 / rows;
    const { samples } = await contest.compare({ rows, repeat }, rounds);
    const times = (name, key) =>
      median(samples.get("arrow").map((own, round) => samples.get(name)[round][key] / own[key])).toFixed(1);
    for (const name of names) {
      const each = (key) => median(samples.get(name).map((sample) => sample[key])) / repeat;
      lines.push({
        rows,
        writer: name,
        ms: each("wall").toFixed(3),
        "CPU ms": each("cpu").toFixed(3),
        "Mrows/s": (rows / each("wall") / 1000).toFixed(2),
        bytes: samples.get(name)[0].result,
        "x arrow wall": times(name, "wall"),
        "x arrow CPU": times(name, "cpu"),
      });
    }
  }
  contest.close();
  printTable(lines);
}

const variant = variants[process.argv[2]];
if (variant === undefined) await main();
else await playVariant(variant);
