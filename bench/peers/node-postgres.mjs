// The queries of bench/postgres.mjs with node-postgres behind bare node:http: node node-postgres.mjs <port> <user>
import http from "node:http";
import pg from "pg";

const [, , port, user] = process.argv;
const pool = new pg.Pool({ host: "127.0.0.1", port: Number(port), user, database: "postgres", max: 16 });
const BY_ID = "SELECT * FROM customers WHERE id = $1";
const ALL = "SELECT * FROM customers WHERE id < 100000 ORDER BY id";

const server = http.createServer(async (request, response) => {
  const [, , id] = request.url.split("/");
  const { rows } =
    id === undefined
      ? await pool.query({ name: "all", text: ALL })
      : await pool.query({ name: "by-id", text: BY_ID, values: [Number(id)] });
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(rows));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
