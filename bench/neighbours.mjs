// Look-ups by key by one client, on a machine where other processes keep all cores busy, over those on a quiet machine.
//   npm run build && node bench/neighbours.mjs
// Pass paths of other builds to measure them in the same run: node bench/neighbours.mjs ../other-tree
// EIDER_BENCH_ROUNDS (default 9) sets the rounds after warm-up, EIDER_BENCH_NEIGHBOURS (default 2) the number of busy processes.
import { spawn } from "node:child_process";
import { basename, resolve } from "node:path";
import { printTable } from "./compare.mjs";
import { folderOf, load, median, root, startEider, tableSql } from "./load.mjs";

const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 9);
const NEIGHBOURS = Number(process.env.EIDER_BENCH_NEIGHBOURS ?? 2);
const REQUESTS = 300;
const WARM_UP = 2;
const GOAL = 0.6;
/** A neighbour ends by itself, even if this process is killed. */
const LOOP = "const end = Date.now() + 1_800_000; while (Date.now() < end);";

const folder = projectFolder();
const sides = [];
for (const tree of [root, ...process.argv.slice(2).map((path) => resolve(path))]) {
  sides.push({ name: basename(resolve(tree)), eider: await startEider(folder, tree), quiet: [], busy: [] });
}
const neighbours = openNeighbours(NEIGHBOURS);
let key = 0;

for (let round = -WARM_UP; round < ROUNDS; round++) {
  for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
    // Both states in turns, so that the noise of the machine affects both equally.
    for (const state of round % 2 === 0 ? ["quiet", "busy"] : ["busy", "quiet"]) {
      if (state === "busy") neighbours.run();
      const perSecond = await lookUps(side.eider);
      neighbours.pause();
      if (round >= 0) side[state].push(perSecond);
    }
  }
}
neighbours.end();
report();
for (const { eider } of sides) await eider.stop();
process.exit();

async function lookUps(eider) {
  // Another key each time, so that no request is answered from a cache.
  const path = () => `/rows/${(key++ * 7919) % 1_000_000}`;
  return (await load(eider.url, { clients: 1, requests: REQUESTS, path })).perSecond;
}

function report() {
  printTable(
    sides.map(({ name, quiet, busy }) => ({
      build: name,
      "quiet, requests/s": Math.round(median(quiet)),
      "busy, requests/s": Math.round(median(busy)),
      ratio: ratioOf(quiet, busy),
      "at least": GOAL,
    })),
  );
  for (const { name, quiet, busy } of sides.slice(1)) {
    const [first] = sides;
    const ratio = median(first.busy.map((perSecond, round) => perSecond / busy[round])).toFixed(2);
    const quietRatio = median(first.quiet.map((perSecond, round) => perSecond / quiet[round])).toFixed(2);
    console.log(`${first.name} over ${name}: ${ratio} with busy neighbours, ${quietRatio} without`);
  }
}

function ratioOf(quiet, busy) {
  return median(busy.map((perSecond, round) => perSecond / quiet[round])).toFixed(2);
}

/** Processes that compute all the time. They start paused. */
function openNeighbours(count) {
  const children = Array.from({ length: count }, () => spawn(process.execPath, ["-e", LOOP], { stdio: "ignore" }));
  const signal = (name) => {
    for (const child of children) child.kill(name);
  };
  const end = () => signal("SIGKILL");
  process.once("exit", end);
  signal("SIGSTOP");
  return { run: () => signal("SIGCONT"), pause: () => signal("SIGSTOP"), end };
}

function projectFolder() {
  return folderOf({
    "eider.yaml": `http-port: 0\nlog: { level: silent }\nconnections:\n  memory:\n    init: "${tableSql.replaceAll("\n", " ")}"\n`,
    "rows.yaml":
      "url-path: /rows/:id\ntemplate-source: rows.sql\nconnection: memory\nwith-pagination: false\nrequest:\n  - { field-name: id, field-in: path, required: true, validators: [{ type: int }] }\n",
    "rows.sql": "SELECT * FROM t WHERE id = {{params.id}}",
  });
}
