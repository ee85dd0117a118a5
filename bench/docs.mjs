// The OpenAPI document of a large project: time to the first one, cost of later ones, the files of the page, and a reload.
//   npm run build && node bench/docs.mjs
// EIDER_BENCH_ENDPOINTS (default 1000) sets the size of the project.
import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { folderOf, median, root, start } from "./load.mjs";

const COUNT = Number(process.env.EIDER_BENCH_ENDPOINTS ?? 1000);
const files = {
  "eider.yaml":
    "http-port: 0\nlog: {level: error}\ntemplate: {path: e}\nconnections:\n  memory:\n    init: CREATE TABLE t AS SELECT 1 AS id, 'x' AS name, DATE '2026-01-01' AS day\n",
};
for (let index = 0; index < COUNT; index++) {
  files[`e/e${index}.yaml`] = endpointYaml(`e${index}`);
  files[`e/e${index}.sql`] = `SELECT id, name, day, ${index} AS n FROM t WHERE name LIKE '%{{{params.q}}}%'`;
}
const folder = folderOf(files);

function endpointYaml(name) {
  return `url-path: /${name}\nconnection: [memory]\ntemplate-source: ${name}.sql\nrequest:\n  - field-name: q\n    field-in: query\n    description: Part of the name\n    validators: [{type: string, max: 20}]\n`;
}

const args = [join(root, "bin/eider.cjs"), "serve", "--watch", "--config", join(folder, "eider.yaml")];
const program = await start(args);
const { url } = program;
const first = await timed(() => fetchAll(`${url}/docs`));
const later = [];
for (let round = 0; round < 20; round++) later.push((await timed(() => fetchAll(`${url}/docs`, "gzip"))).ms);
const health = [];
for (let round = 0; round < 20; round++) health.push((await timed(() => fetchAll(`${url}/health`))).ms);
console.log(`${COUNT} endpoints`);
console.log(
  `first document ${first.ms.toFixed(0)} ms after it was asked for, ${(first.value.length / 1e6).toFixed(2)} MB of JSON`,
);
console.log(`later documents ${median(later).toFixed(1)} ms (gzip), a health answer ${median(health).toFixed(1)} ms`);

const page = (await fetchAll(`${url}/docs`, undefined, "text/html")).toString();
const links = [...new Set([...page.matchAll(/(?:href|src)="(docs\/assets\/[^"]+)"/g)].map(([, link]) => link))];
let packed = 0;
for (const link of links) packed += (await fetchAll(`${url}/${link}`, "gzip")).length;
console.log(`${links.length} files of the page, ${(packed / 1024).toFixed(0)} KiB compressed`);

const times = [];
for (let round = 0; round < 5; round++) {
  const name = `new${round}`;
  writeFileSync(join(folder, `e/${name}.sql`), "SELECT 1 AS a");
  writeFileSync(join(folder, `e/${name}.yaml`), endpointYaml(name));
  const from = performance.now();
  while ((await fetch(`${url}/${name}`)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 5));
  times.push(performance.now() - from);
}
console.log(
  `a new endpoint answers ${median(times).toFixed(0)} ms after its file was saved (median of ${times.length})`,
);
await program.stop();

async function timed(work) {
  const from = performance.now();
  const value = await work();
  return { ms: performance.now() - from, value };
}

/** The bytes as received, without decompression. */
async function fetchAll(address, coding = "identity", accept = "application/json") {
  return await new Promise((resolve, reject) => {
    const asked = request(address, { headers: { "accept-encoding": coding, accept } }, (response) => {
      const pieces = [];
      response.on("data", (piece) => pieces.push(piece));
      response.on("end", () => {
        resolve(Buffer.concat(pieces));
      });
    });
    asked.on("error", reject).end();
  });
}
