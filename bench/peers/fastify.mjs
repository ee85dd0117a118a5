// What a careful team writes by hand: Fastify and `runAndReadAll`, with as many connections as cores.
//   node bench/peers/fastify.mjs [threads of DuckDB]
import { availableParallelism } from "node:os";
import { DuckDBInstance } from "@duckdb/node-api";
import fastify from "fastify";
import { tableSql } from "../load.mjs";

const instance = await DuckDBInstance.create(":memory:", process.argv[2] ? { threads: process.argv[2] } : {});
await (await instance.connect()).run(tableSql);
const connections = await Promise.all(Array.from({ length: availableParallelism() * 2 }, () => instance.connect()));
let turn = 0;

const app = fastify();
app.get("/t/:id", async (request) => {
  const connection = connections[turn++ % connections.length];
  const result = await connection.runAndReadAll("SELECT * FROM t WHERE id = $1", [BigInt(request.params.id)]);
  return { data: result.getRowObjectsJson(), next: "", total_count: result.currentRowCount };
});
console.log(await app.listen({ port: 0, host: "127.0.0.1" }));
