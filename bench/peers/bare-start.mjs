// The least that a start can cost: Node.js, DuckDB, one prepared statement and one response.
//   node bench/peers/bare-start.mjs
import { createServer } from "node:http";
import duckdb from "@duckdb/node-bindings";

const database = await duckdb.open(":memory:");
const connection = await duckdb.connect(database);
const statement = await duckdb.prepare(connection, "SELECT 42 AS n");

const server = createServer(async (_, response) => {
  const result = await duckdb.execute_prepared(statement);
  const vector = duckdb.data_chunk_get_vector(duckdb.result_get_chunk(result, 0), 0);
  const { buffer, byteOffset } = duckdb.vector_get_data(vector, 4);
  response.end(JSON.stringify([{ n: new DataView(buffer, byteOffset).getInt32(0, true) }]));
});
process.once("SIGTERM", () => process.exit());
server.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
