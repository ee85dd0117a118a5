// The least that a look-up can cost: node:http and the native calls that Eider makes, for one table that is known in advance.
//   node bench/peers/lean.mjs [threads of DuckDB]
import { createServer } from "node:http";
import duckdb from "@duckdb/node-bindings";
import { tableSql } from "../load.mjs";

const SLOTS = 8;

const config = duckdb.create_config();
if (process.argv[2]) duckdb.set_config(config, "threads", process.argv[2]);
const database = await duckdb.open(":memory:", config);
const setup = await duckdb.connect(database);
await duckdb.query(setup, tableSql);
const idle = await Promise.all(
  Array.from({ length: SLOTS }, async () =>
    duckdb.prepare(await duckdb.connect(database), "SELECT * FROM t WHERE id = $1"),
  ),
);
const waiting = [];

function textOf(slot) {
  const length = slot.readUInt32LE();
  if (length <= 12) return slot.toString("utf8", 4, 4 + length);
  return Buffer.from(duckdb.get_data_from_pointer(slot.buffer, slot.byteOffset + 8, length)).toString();
}

const timestampText = (micros) => {
  const seconds = new Date(Number(micros / 1000n)).toISOString().slice(0, 19);
  return `"${seconds.replace("T", " ")}.${String(micros % 1_000_000n).padStart(6, "0")}"`;
};

/** The columns of the table: name, bytes of a value, and its JSON. */
const writers = [
  ["id", 8, (data) => String(data.readBigInt64LE())],
  ["amount", 8, (data) => decimalText(data.readBigInt64LE())],
  ["ratio", 8, (data) => String(data.readDoubleLE())],
  ["name", 16, (data) => JSON.stringify(textOf(data))],
  ["day", 4, (data) => `"${new Date(data.readInt32LE() * 86_400_000).toISOString().slice(0, 10)}"`],
  ["at", 8, (data) => timestampText(data.readBigInt64LE())],
  ["flag", 1, (data) => String(data[0] === 1)],
  ["note", 16, (data) => JSON.stringify(textOf(data))],
];
const decimalText = (value) => `${value / 100n}.${String(value % 100n).padStart(2, "0")}`;

const bufferOf = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength);

function rowText(result) {
  const chunk = duckdb.result_get_chunk(result, 0);
  let text = "{";
  for (const [index, [name, bytes, write]] of writers.entries()) {
    const vector = duckdb.data_chunk_get_vector(chunk, index);
    const validity = duckdb.vector_get_validity(vector, 8);
    const isValid = validity === null || (validity[0] & 1) === 1;
    text += `${index === 0 ? "" : ","}"${name}":${isValid ? write(bufferOf(duckdb.vector_get_data(vector, bytes))) : "null"}`;
  }
  return `${text}}`;
}

async function answer(statement, request, response) {
  duckdb.bind_int64(statement, 1, BigInt(request.url.slice("/t/".length)));
  const result = await duckdb.execute_prepared(statement);
  const found = duckdb.row_count(result);
  const rows = found === 0 ? "" : rowText(result);
  const body = `{"data":[${rows}],"next":"","total_count":${found}}`;
  response.writeHead(200, ["Content-Type", "application/json", "Content-Length", String(Buffer.byteLength(body))]);
  response.end(body);
  const next = waiting.shift();
  if (next === undefined) idle.push(statement);
  else next(statement);
}

const server = createServer((request, response) => {
  const statement = idle.pop();
  if (statement === undefined) waiting.push((free) => answer(free, request, response));
  else answer(statement, request, response);
}).listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
