// This tree against another build of Eider, in one run: CPU of a response from memory, of look-ups, of long responses, of a start.
//   npm run build && node bench/against.mjs /path/to/the/other/tree [words in the names of the comparisons]
import { join, resolve } from "node:path";
import { folderOf, load, manyEndpoints, median, root, startEider, tableSql, timeStart } from "./load.mjs";

const [other, words = ""] = process.argv.slice(2);
if (other === undefined) {
  console.error("usage: node bench/against.mjs /path/to/the/other/tree [words]");
  process.exit(2);
}
const ROUNDS = 11;
const ID = "  - { field-name: id, field-in: path, required: true, validators: [{ type: int }] }\n";

const files = {
  "eider.yaml": `connections:\n  t:\n    init: |\n      ${tableSql.replaceAll("\n", "\n      ")}\n`,
  "t.yaml": `url-path: /t/:id\ntemplate-source: t.sql\nconnection: [t]\nrequest:\n${ID}`,
  "t.sql": "SELECT * FROM t WHERE id = {{params.id}}",
  "rows.yaml": `url-path: /rows/:id\ntemplate-source: rows.sql\nconnection: [t]\nwith-pagination: false\nrequest:\n${ID}`,
  "rows.sql": "SELECT * FROM t LIMIT {{params.id}}",
};

const key = (n) => (n * 7919) % 1_000_000;
let asked = 0;
const works = {
  "a response from memory": { clients: 32, requests: 30_000, path: () => "/t/1" },
  "a look-up, 1 client": { clients: 1, requests: 1_000, path: () => `/t/${key(asked++)}` },
  "a look-up, 32 clients": { clients: 32, requests: 2_000, path: () => `/t/${key(asked++)}` },
  "10,000 rows as JSON": { clients: 1, requests: 30, path: () => `/rows/${10_000 + (asked++ % 50)}` },
  "100,000 rows as CSV": { clients: 1, requests: 6, path: () => `/rows/${100_000 + (asked++ % 50)}?format=csv` },
  "100,000 rows as Arrow": { clients: 1, requests: 12, path: () => `/rows/${100_000 + (asked++ % 50)}?format=arrow` },
};
const many = manyEndpoints(200);
const starts = {
  "start, quickstart": { folder: (tree) => join(tree, "examples/quickstart"), path: "/customers" },
  "start, 200 endpoints": { folder: () => many, path: "/e199" },
};

const [here, there] = [await startEider(folderOf(files)), await startEider(folderOf(files), resolve(other))];
async function cpuPerRequest(server, work) {
  const before = server.cpu();
  await load(server.url, work);
  return ((server.cpu() - before) * 1000) / work.requests;
}

const table = {};
async function compare(name, { rounds: count, measureHere, measureThere }) {
  if (!name.includes(words)) return;
  const rounds = [];
  for (let round = -2; round < count; round++) {
    // The second one runs on a warmer machine: the order changes.
    const first = round % 2 === 0;
    const a = await (first ? measureHere() : measureThere());
    const b = await (first ? measureThere() : measureHere());
    const pair = first ? { here: a, there: b } : { here: b, there: a };
    if (round >= 0) rounds.push(pair);
  }
  table[name] = {
    "CPU us here": median(rounds.map((r) => r.here)).toFixed(1),
    there: median(rounds.map((r) => r.there)).toFixed(1),
    "here / there": median(rounds.map((r) => r.here / r.there)).toFixed(3),
  };
}

for (const [name, work] of Object.entries(works)) {
  const measureHere = () => cpuPerRequest(here, work);
  await compare(name, { rounds: ROUNDS, measureHere, measureThere: () => cpuPerRequest(there, work) });
}
for (const [name, { folder, path }] of Object.entries(starts)) {
  const cpu = async (tree) => (await timeStart(folder(tree), path, tree)).cpu * 1000;
  await compare(name, { rounds: 7, measureHere: () => cpu(root), measureThere: () => cpu(resolve(other)) });
}
console.log("CPU per request or start, median of interleaved rounds; below 1 this tree is cheaper");
console.table(table);
process.exit();
