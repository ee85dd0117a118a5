// This tree against another build of Eider, in one run: CPU of a response from memory and of look-ups.
//   npm run build && node bench/against.mjs /path/to/the/other/tree
import { join, resolve } from "node:path";
import { folderOf, load, median, root, start, tableSql } from "./load.mjs";

const other = process.argv[2];
if (other === undefined) {
  console.error("usage: node bench/against.mjs /path/to/the/other/tree");
  process.exit(2);
}
const ROUNDS = 15;
const ID = "  - { field-name: id, field-in: path, required: true, validators: [{ type: int }] }\n";

const files = {
  "eider.yaml": `connections:\n  t:\n    init: |\n      ${tableSql.replaceAll("\n", "\n      ")}\n`,
  "t.yaml": `url-path: /t/:id\ntemplate-source: t.sql\nconnection: [t]\nrequest:\n${ID}`,
  "t.sql": "SELECT * FROM t WHERE id = {{params.id}}",
};

const startIn = async (tree) =>
  start([join(tree, "bin/eider.cjs"), "serve", "--config", join(folderOf(files), "eider.yaml"), "--port", "0"]);

const key = (n) => (n * 7919) % 1_000_000;
let asked = 0;
const works = {
  "a response from memory": { clients: 32, requests: 30_000, path: () => "/t/1" },
  "a look-up, 1 client": { clients: 1, requests: 1_000, path: () => `/t/${key(asked++)}` },
  "a look-up, 32 clients": { clients: 32, requests: 2_000, path: () => `/t/${key(asked++)}` },
};

const [here, there] = [await startIn(root), await startIn(resolve(other))];
async function cpuPerRequest(server, work) {
  const before = server.cpu();
  await load(server.url, work);
  return ((server.cpu() - before) * 1000) / work.requests;
}

const table = {};
for (const [name, work] of Object.entries(works)) {
  const rounds = [];
  for (let round = -2; round < ROUNDS; round++) {
    // The second one runs on a warmer machine: the order changes.
    const first = round % 2 === 0;
    const a = await cpuPerRequest(first ? here : there, work);
    const b = await cpuPerRequest(first ? there : here, work);
    const pair = first ? { here: a, there: b } : { here: b, there: a };
    if (round >= 0) rounds.push(pair);
  }
  table[name] = {
    "CPU us here": median(rounds.map((r) => r.here)).toFixed(1),
    there: median(rounds.map((r) => r.there)).toFixed(1),
    "here / there": median(rounds.map((r) => r.here / r.there)).toFixed(3),
  };
}
console.log(`CPU per request, median of ${ROUNDS} interleaved rounds; below 1 this tree is cheaper`);
console.table(table);
process.exit();
