// From start to first answer: the quickstart, and projects of 100, 500 and 1,000 endpoints.
//   npm run build && node bench/start.mjs
import { join } from "node:path";
import { folderOf, median, root, startEider } from "./load.mjs";

const ROUNDS = 5;
const BLOCK = `request:
  - field-name: id
    field-in: query
    validators:
      - type: int
        min: 0
  - field-name: name
    field-in: query
    validators:
      - type: string
        max: 50
  - field-name: sort
    field-in: query
    default: id
    validators:
      - type: enum
        allowedValues: [id, name]
`;
const FLOW = `request:
  - { field-name: id, field-in: query, validators: [{ type: int, min: 0 }] }
  - { field-name: name, field-in: query, validators: [{ type: string, max: 50 }] }
  - { field-name: sort, field-in: query, default: id, validators: [{ type: enum, allowedValues: [id, name] }] }
`;

/** A project of n endpoints with parameters, sections and an enum each, over one table. */
function project(n, request = BLOCK) {
  const files = {
    "eider.yaml": "connections:\n  t:\n    init: CREATE TABLE t AS SELECT range AS id, 'x' AS name FROM range(1000)\n",
  };
  for (let i = 0; i < n; i++) {
    files[`e${i % 20}/e${i}.yaml`] = `url-path: /e${i}
description: Endpoint number ${i}
template-source: e${i % 20}/e${i}.sql
connection: [t]
${request}`;
    files[`e${i % 20}/e${i}.sql`] = `SELECT id, name, ${i} AS n FROM t WHERE true
{{#params.id}} AND id = {{params.id}}{{/params.id}}
{{#params.name}} AND name LIKE '%{{{params.name}}}%'{{/params.name}}
ORDER BY {{{params.sort}}}
`;
  }
  return folderOf(files);
}

async function timeStart(folder, path) {
  const began = performance.now();
  const eider = await startEider(folder);
  const answer = await fetch(eider.url + path);
  if (answer.status !== 200) throw new Error(await answer.text());
  await answer.text();
  const ms = performance.now() - began;
  const cpu = eider.cpu();
  await eider.stop();
  return { ms, cpu };
}

const cases = {
  quickstart: [join(root, "examples/quickstart"), "/customers"],
  "100 endpoints": [project(100), "/e99"],
  "500 endpoints": [project(500), "/e499"],
  "1,000 endpoints": [project(1000), "/e999"],
  "1,000 endpoints, flow style": [project(1000, FLOW), "/e999"],
};
const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, [folder, path]] of Object.entries(cases)) times[name].push(await timeStart(folder, path));
}
console.log(`start to first answer, median of ${ROUNDS} (goal: 1,000 endpoints within 1,500 ms, and linear)`);
console.table(
  Object.fromEntries(
    Object.entries(times).map(([name, runs]) => [
      name,
      { ms: Math.round(median(runs.map((r) => r.ms))), "CPU ms": median(runs.map((r) => r.cpu)) },
    ]),
  ),
);
process.exit();
