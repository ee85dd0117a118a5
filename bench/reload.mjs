// A reload after one file of 1,000 endpoints has changed, under `serve --watch`: its CPU time relative to that of a full reload,
// which a change of the main file causes, and how long it blocks the event loop.
//   npm run build && node bench/reload.mjs
// EIDER_BENCH_ENDPOINTS (default 1000) sets the size of the project, EIDER_BENCH_ROUNDS (default 7) the number of rounds. With
// EIDER_BENCH_MCP=1, every endpoint is an MCP tool too.
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { manyEndpoints, median, root, start } from "./load.mjs";

const COUNT = Number(process.env.EIDER_BENCH_ENDPOINTS ?? 1000);
const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 7);
/** The first reloads run code that is not compiled yet. */
const WARM_UP = 2;
/** For garbage collection and the watcher after a reload, which belong to its cost. */
const REST_MS = 300;

/**
 * Runs in the service. From one SIGUSR2 to the next, it takes the CPU time of the process in every iteration of the event loop, and
 * prints the longest. Unlike the time to a response of /health, it does not depend on what else runs on the machine.
 */
const watchLoop = `
  let isWatching = false;
  let last = 0;
  let longest = 0;
  const cpu = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  const tick = () => {
    longest = Math.max(longest, cpu() - last);
    last = cpu();
    if (isWatching) setImmediate(tick);
  };
  process.on("SIGUSR2", () => {
    isWatching = !isWatching;
    if (!isWatching) return console.error("longest iteration: " + longest + " ms");
    last = cpu();
    longest = 0;
    setImmediate(tick);
  });`;

const folder = manyEndpoints(COUNT);
if (process.env.EIDER_BENCH_MCP === "1") {
  appendFileSync(join(folder, "eider.yaml"), "mcp: {port: 0}\n");
  for (let i = 0; i < COUNT; i++) {
    appendFileSync(
      join(folder, `e${i % 20}/e${i}.yaml`),
      `mcp-tool: {name: tool_${i}, description: Tool number ${i}}\n`,
    );
  }
}
const log = new PassThrough();
const eider = await start(
  [
    ...["--import", `data:text/javascript,${encodeURIComponent(watchLoop)}`],
    ...[join(root, "bin/eider.cjs"), "serve", "--watch"],
    ...["--config", join(folder, "eider.yaml"), "--port", "0", "--log-format", "json"],
  ],
  { errors: log },
);
/** Called with each line of the log. */
let onLine = () => {};
log.setEncoding("utf8").on("data", (text) => {
  if (text.includes("reload failed")) throw new Error(text);
  for (const line of text.split("\n")) onLine(line);
});
const lineWith = (pattern) =>
  new Promise((resolve) => {
    onLine = (line) => pattern.test(line) && resolve(pattern.exec(line)[1]);
  });

const FULL = "the main file (full reload)";
/** Each changes one file. */
const changes = {
  "one SQL file": (round) => edit("e7/e7.sql", "AS n", `AS n, ${round} AS r`),
  "one YAML file": (round) => edit("e8/e8.yaml", "number 8", `number 8, ${round}`),
  [FULL]: (round) => edit("eider.yaml", "connections:", `project-version: "${round}"\nconnections:`),
  "nothing (no reload)": undefined,
};
const originals = new Map();

function edit(name, text, replacement) {
  const path = join(folder, name);
  if (!originals.has(path)) originals.set(path, readFileSync(path, "utf8"));
  writeFileSync(path, originals.get(path).replace(text, replacement));
}

/** CPU time in ms. More precise than /proc/PID/stat, which counts in steps of 10 ms. */
function cpu() {
  const threads = readdirSync(`/proc/${eider.pid}/task`);
  const ofThread = (id) => Number(readFileSync(`/proc/${eider.pid}/task/${id}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  return { all: threads.reduce((sum, id) => sum + ofThread(id), 0), main: ofThread(eider.pid) };
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function reload(change, round) {
  const done = change === undefined ? undefined : lineWith(/(reloaded: )/);
  change?.(round);
  await done;
  await pause(REST_MS);
}

async function longestIteration(change, round) {
  process.kill(eider.pid, "SIGUSR2");
  await reload(change, round);
  const line = lineWith(/longest iteration: (\S+) ms/);
  process.kill(eider.pid, "SIGUSR2");
  return Number(await line);
}

const names = Object.keys(changes);
const found = Object.fromEntries(names.map((name) => [name, { all: [], main: [], longest: [] }]));
for (let round = 0; round < ROUNDS + WARM_UP; round++) {
  for (const name of names) {
    const before = cpu();
    await reload(changes[name], round);
    const after = cpu();
    // A second reload, because watching the loop needs CPU time too.
    const longest = await longestIteration(changes[name], 1000 + round);
    if (round < WARM_UP) continue;
    found[name].all.push(after.all - before.all);
    found[name].main.push(after.main - before.main);
    found[name].longest.push(longest);
  }
}
const full = median(found[FULL].all);
const rounded = (value, digits = 1) => Number(value.toFixed(digits));
console.log(`${COUNT} endpoints, median of ${ROUNDS} rounds (goals: 0.1 of a full reload; longest iteration 20 ms)`);
console.table(
  Object.fromEntries(
    names.map((name) => [
      name,
      {
        "CPU ms": rounded(median(found[name].all)),
        "of a full reload": rounded(median(found[name].all) / full, 3),
        "main thread, CPU ms": rounded(median(found[name].main)),
        "longest iteration, CPU ms": rounded(median(found[name].longest)),
        "at most": rounded(Math.max(...found[name].longest)),
      },
    ]),
  ),
);
await eider.stop();
process.exit();
