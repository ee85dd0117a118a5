import { fork } from "node:child_process";
import { once } from "node:events";
import v8 from "node:v8";

/**
 * Compares variants of the same work. Each has its own process, so that none pays for the garbage of another. They run
 * alternately, in rotating order, so that noise affects all equally.
 */
export async function openContest(file, names) {
  const players = [];
  for (const name of names) {
    const child = fork(file, [name]);
    const [message] = await once(child, "message");
    if (message !== "ready") throw new Error(`${name}: ${message}`);
    players.push({ name, child });
  }
  return {
    /** Medians of wall-clock and CPU milliseconds per variant, and of the ratios of the first variant to the others. */
    async compare(task, rounds) {
      const samples = new Map(names.map((name) => [name, []]));
      const warmUp = 4;
      for (let round = 0; round < rounds + warmUp; round++) {
        for (const { name, child } of round % 2 === 0 ? players : players.toReversed()) {
          child.send(task);
          const [sample] = await once(child, "message");
          if (round >= warmUp) samples.get(name).push(sample);
        }
      }
      return { samples, ratio: (key, name) => ratioOf(samples.get(names[0]), samples.get(name), key) };
    },
    close() {
      for (const { child } of players) child.disconnect();
    },
  };
}

/** Runs in the process of a variant. Measures `work(task)`. */
export function play(work) {
  // The same setting as for long reads in src/engines/heap-growth.ts, for every variant.
  v8.setFlagsFromString("--heap-growing-percent=400");
  process.on("message", async (task) => {
    const cpuBefore = process.cpuUsage();
    const before = performance.now();
    const result = await work(task);
    const wall = performance.now() - before;
    const { user, system } = process.cpuUsage(cpuBefore);
    process.send({ wall, cpu: (user + system) / 1000, result });
  });
  process.send("ready");
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function ratioOf(first, other, key) {
  return median(first.map((sample, round) => sample[key] / other[round][key]));
}

export function printTable(lines) {
  const keys = Object.keys(lines[0] ?? {});
  console.log(`| ${keys.join(" | ")} |`);
  console.log(`|${keys.map(() => "---").join("|")}|`);
  for (const line of lines) console.log(`| ${keys.map((key) => line[key]).join(" | ")} |`);
}
