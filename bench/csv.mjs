// Compares the CSV writer with what Node programs usually do: getRowObjectsJson and a CSV library, csv-stringify, and a short
// handwritten function, which is the fastest way to convert row objects. Also measures the JSON writer.
// npm run build && node bench/csv.mjs
// EIDER_BENCH_ROUNDS (default 7) sets the rounds after warm-up.

import { fileURLToPath } from "node:url";
import { DuckDBDataChunk, JsonDuckDBValueConverter } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";
import { stringify } from "csv-stringify/sync";
import { loadChunk } from "../dist/engines/duckdb/load/load-vectors.js";
import { resultColumns } from "../dist/engines/duckdb/load/logical-type.js";
import { csv } from "../dist/formats/csv/csv.js";
import { json } from "../dist/formats/json/json.js";
import { median, openContest, play, printTable } from "./compare.mjs";

const TABLES = {
  // The same as in json.mjs.
  plain: `
    i AS id,
    ((i * 7919 % 10000000) / 100)::DECIMAL(18, 2) AS amount,
    (random() * 1000)::DOUBLE AS score,
    'customer name number ' || (i * 31 % 9973) AS name,
    DATE '2015-01-01' + (i % 4000)::INTEGER AS day,
    TIMESTAMP '2020-01-01' + to_microseconds(i * 1234567891) AS created,
    i % 3 = 0 AS active,
    CASE WHEN i % 4 = 0 THEN NULL ELSE 'tag' || (i % 100) END AS tag`,
  // Strings, half of which need quotes.
  quotes: `
    i AS id,
    'Street ' || i || ', ' || (i % 100) || ' Town' AS address,
    'he said "number ' || i || '" twice' AS remark,
    'customer name number ' || (i * 31 % 9973) AS name,
    'first line of ' || i || chr(10) || 'second line' AS note,
    CASE WHEN i % 4 = 0 THEN NULL ELSE 'tag' || (i % 100) END AS tag`,
};

/** The loop of getRowObjectsJson over fetched chunks. Creates new wrappers each time, because they cache what they read. */
function rowObjects({ columns, chunks }) {
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
  return rows;
}

function byCsvStringify(fetched) {
  const columns = fetched.columns.map(({ name }) => name);
  const text = stringify(rowObjects(fetched), { header: true, columns, record_delimiter: "windows" });
  return Buffer.from(text).length;
}

function byHand(fetched) {
  const field = (value) => {
    if (value === null) return "";
    const text = String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const names = fetched.columns.map(({ name }) => name);
  let text = `${names.map(field).join(",")}\r\n`;
  for (const row of rowObjects(fetched)) text += `${names.map((name) => field(row[name])).join(",")}\r\n`;
  return Buffer.from(text).length;
}

const byWriter =
  (format) =>
  ({ columns, chunks }) => {
    const encoder = format.open(columns, { kind: "rows" });
    let bytes = 0;
    for (const chunk of chunks) bytes += encoder.encode(loadChunk(chunk, columns)).length;
    return bytes + encoder.end().length;
  };

async function playVariant(serialise) {
  const connection = await duckdb.connect(await duckdb.open(":memory:"));
  await duckdb.query(connection, "SELECT setseed(0.5)");
  for (const [name, columns] of Object.entries(TABLES)) {
    await duckdb.query(connection, `CREATE TABLE ${name} AS SELECT ${columns} FROM range(200000) r(i)`);
  }

  async function fetchRows(table, rows) {
    const result = await duckdb.query(connection, `SELECT * FROM ${table} LIMIT ${rows}`);
    const chunks = [];
    for (;;) {
      const chunk = await duckdb.fetch_chunk(result);
      if (!chunk || duckdb.data_chunk_get_size(chunk) === 0) return { columns: resultColumns(result), chunks };
      chunks.push(chunk);
    }
  }

  const fetched = new Map();
  play(async ({ table, rows, repeat }) => {
    const key = `${table} ${rows}`;
    const input = fetched.get(key) ?? (await fetchRows(table, rows));
    fetched.set(key, input);
    let bytes = 0;
    for (let count = 0; count < repeat; count++) bytes = serialise(input);
    return bytes;
  });
}

async function main() {
  const rounds = Number(process.env.EIDER_BENCH_ROUNDS ?? 7);
  const contest = await openContest(fileURLToPath(import.meta.url), Object.keys(variants));
  const lines = [];
  for (const table of Object.keys(TABLES)) {
    for (const rows of [100, 10_000, 200_000]) {
      const repeat = 200_000 / rows;
      const { samples, ratio } = await contest.compare({ table, rows, repeat }, rounds);
      const each = (name, key) => median(samples.get(name).map((sample) => sample[key])) / repeat;
      // `ratio` compares the first variant with the others.
      const own = (name, key) => (ratio(key, "own") / ratio(key, name)).toFixed(1);
      lines.push({
        table,
        rows,
        "csv-stringify ms": each("csv-stringify", "wall").toFixed(3),
        "by hand ms": each("by hand", "wall").toFixed(3),
        "own ms": each("own", "wall").toFixed(3),
        "own MB/s": (samples.get("own")[0].result / each("own", "wall") / 1000).toFixed(0),
        "x csv-stringify": ratio("wall", "own").toFixed(1),
        "x by hand": own("by hand", "wall"),
        "x own JSON": own("json", "wall"),
        "CPU: x csv-stringify": ratio("cpu", "own").toFixed(1),
        "CPU: x by hand": own("by hand", "cpu"),
        "CPU: x own JSON": own("json", "cpu"),
      });
    }
  }
  contest.close();
  printTable(lines);
}

const variants = {
  "csv-stringify": byCsvStringify,
  "by hand": byHand,
  json: byWriter(json),
  own: byWriter(csv),
};
const variant = variants[process.argv[2]];
if (variant === undefined) await main();
else await playVariant(variant);
