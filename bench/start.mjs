// Time from start to first response: the quickstart, and projects of 100, 500 and 1,000 endpoints.
//   npm run build && node bench/start.mjs
import { join } from "node:path";
import { FLOW, manyEndpoints, median, root, timeStart } from "./load.mjs";

const ROUNDS = 5;
const cases = {
  quickstart: [join(root, "examples/quickstart"), "/customers"],
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
      { ms: Math.round(median(runs.map((r) => r.ms))), "CPU ms": median(runs.map((r) => r.cpu)) },
    ]),
  ),
);
process.exit();
