// The first minutes with Eider: `eider init`, and `eider dev` with files of a million rows, until the first response.
//   npm run build && node bench/first-minutes.mjs
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { folderOf, median, root, runSql, timeBareStart, timeDev } from "./load.mjs";

const ROUNDS = 5;
const folder = folderOf({});
const at = (name) => join(folder, name);
const columns = `i AS id, 'name ' || i % 1000 AS name, i * 1.5 AS price, i % 7 = 0 AS sold,
  DATE '2020-01-01' + (i % 1000)::INTEGER AS day, TIMESTAMP '2020-01-01' + INTERVAL (i) SECOND AS at`;
const wide = Array.from({ length: 100 }, (_, index) => `i + ${index} AS "column ${index}"`).join(", ");
await runSql(
  folder,
  `
  COPY (SELECT ${columns} FROM range(1000000) r(i)) TO '${at("rows.parquet")}';
  COPY (SELECT ${columns} FROM range(1000000) r(i)) TO '${at("rows.csv")}';
  COPY (SELECT ${columns} FROM range(1000000) r(i)) TO '${at("rows.json")}';
  COPY (SELECT ${wide} FROM range(1000000) r(i)) TO '${at("wide.parquet")}';
  ATTACH '${at("rows.db")}' AS d;
  CREATE TABLE d.rows AS SELECT ${columns} FROM range(1000000) r(i);
  DETACH d`,
);

const steps = {
  "node + DuckDB + one statement": () => timeBareStart(),
  "dev rows.parquet": () => timeDev(at("rows.parquet"), "/rows"),
  "dev rows.csv": () => timeDev(at("rows.csv"), "/rows"),
  "dev rows.json": () => timeDev(at("rows.json"), "/rows"),
  "dev rows.db": () => timeDev(at("rows.db"), "/rows"),
  "dev wide.parquet (100 columns)": () => timeDev(at("wide.parquet"), "/wide"),
  init: () => timeInit([]),
  "init --from rows.parquet": () => timeInit(["--from", at("rows.parquet")]),
  "init --from rows.csv": () => timeInit(["--from", at("rows.csv")]),
};
const times = Object.fromEntries(Object.keys(steps).map((name) => [name, []]));
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, step] of Object.entries(steps)) times[name].push(await step());
}
const mid = (runs, key) =>
  runs.some((run) => run[key] === undefined) ? "" : Math.round(median(runs.map((run) => run[key])));
console.log(
  `a million rows: from the start of the process to the first response, or to its end, median of ${ROUNDS} (goal: 1,000 ms)`,
);
console.table(
  Object.fromEntries(
    Object.entries(times).map(([name, runs]) => [name, { ms: mid(runs, "ms"), "CPU ms": mid(runs, "cpu") }]),
  ),
);
process.exit();

function timeInit(args) {
  const target = at("new");
  const began = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [join(root, "bin/eider.cjs"), "init", target, ...args]);
  const ms = performance.now() - began;
  if (status !== 0) throw new Error(String(stderr));
  rmSync(target, { recursive: true });
  return { ms };
}
