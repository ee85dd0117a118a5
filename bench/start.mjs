// From start to first response: Eider beside the least that a start can cost, and projects of 100, 500 and 1,000 endpoints.
//   npm run build && node bench/start.mjs
import { join } from "node:path";
import { FLOW, manyEndpoints, median, root, timeBareStart, timeStart } from "./load.mjs";

const ROUNDS = 5;
const STARTS_PER_ROUND = 3;
const quickstart = join(root, "examples/quickstart");
const rounded = (value) => Math.round(value);
const ratio = (value) => value.toFixed(2);

await printStart();
await printProjects();
process.exit();

/** The quickstart and the bare start take turns, so that other load on the machine affects both. */
async function printStart() {
  const pairs = [];
  for (let i = 0; i < ROUNDS * STARTS_PER_ROUND; i++) {
    pairs.push({ bare: await timeBareStart(), eider: await timeStart(quickstart, "/customers") });
  }
  const mid = (side, name) => median(pairs.map((pair) => pair[side][name]));
  const row = (side) => ({
    "CPU ms": rounded(mid(side, "cpu")),
    ms: rounded(mid(side, "ms")),
    "resident MiB": rounded(mid(side, "resident")),
  });
  console.log(
    `the quickstart over node + DuckDB + one statement, ${pairs.length} pairs (goals: CPU ratio 2, resident 100 MiB)`,
  );
  console.table({
    bare: row("bare"),
    quickstart: row("eider"),
    "median ratio": {
      "CPU ms": ratio(median(pairs.map(({ bare, eider }) => eider.cpu / bare.cpu))),
      ms: ratio(median(pairs.map(({ bare, eider }) => eider.ms / bare.ms))),
      "resident MiB": ratio(median(pairs.map(({ bare, eider }) => eider.resident / bare.resident))),
    },
  });
}

async function printProjects() {
  const cases = {
    "100 endpoints": [manyEndpoints(100), "/e99"],
    "500 endpoints": [manyEndpoints(500), "/e499"],
    "1,000 endpoints": [manyEndpoints(1000), "/e999"],
    "1,000 endpoints, flow style": [manyEndpoints(1000, FLOW), "/e999"],
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
        { ms: rounded(median(runs.map((run) => run.ms))), "CPU ms": rounded(median(runs.map((run) => run.cpu))) },
      ]),
    ),
  );
}
