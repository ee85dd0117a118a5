import { readdirSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { folderWith, type Program, start } from "../process/program.ts";
import { until } from "../until.ts";
import { putUnderSoak } from "./load.ts";
import { SOAK_PROJECT } from "./project.ts";
import { type Compared, compareThirds, quantile, type Sample } from "./verdict.ts";

/** CI takes a minute. */
const SECONDS = Number(process.env["EIDER_SOAK_SECONDS"] ?? 1_200);
const SAMPLES = Math.min(SECONDS, 240);
const LINES = 20;
const MIB = 1024 * 1024;

const COLUMNS = ["second", "rss", "heap", "descriptors", "threads", "answers", "p50", "p99"] as const;

test(`a soak of ${SECONDS} seconds: memory, file descriptors, threads and latencies are level`, {
  timeout: (SECONDS + 120) * 1_000,
}, async () => {
  await using temporary = await folderWith({});
  await using probe = await folderWith({});
  const heapFile = join(probe.path, "heap");
  await using program = await start(SOAK_PROJECT, {
    env: {
      TMPDIR: temporary.path,
      NODE_OPTIONS: `--require=${join(import.meta.dirname, "heap-probe.cjs")}`,
      EIDER_SOAK_HEAP: heapFile,
    },
  });
  const [url, mcpUrl] = [await program.url(), await program.mcpUrl()];
  const atRest = descriptorsOf(program);
  const counts = new Map<string, number>();
  const wrong: string[] = [];
  let latencies: number[] = [];
  let over = false;
  const working = putUnderSoak({
    url,
    mcpUrl,
    folder: program.folder,
    reload: () => program.signal("SIGHUP"),
    isOver: () => over,
    took: (ms) => latencies.push(ms),
    count: (kind) => counts.set(kind, (counts.get(kind) ?? 0) + 1),
    wrong: (what) => wrong.push(what),
  });
  const samples: Sample[] = [];
  const began = performance.now();
  console.log(COLUMNS.map((name) => name.padStart(12)).join(""));
  for (let index = 1; index <= SAMPLES && wrong.length < 20 && !program.hasExited(); index++) {
    await wait(Math.max(0, began + (index * SECONDS * 1_000) / SAMPLES - performance.now()));
    const times = latencies;
    latencies = [];
    const sample = sampleOf(program, { heapFile, times, second: (performance.now() - began) / 1_000 });
    samples.push(sample);
    if (index % Math.max(1, Math.floor(SAMPLES / LINES)) === 0) print(COLUMNS.map((name) => sample[name]));
  }
  over = true;
  await working;
  const compared = compareThirds(samples);
  console.log(`\n${["", "middle", "last", "at most"].map((name) => name.padStart(12)).join("")}`);
  for (const { name, middle, last, bound } of compared) print([name, middle, last, bound]);
  console.log([...counts].map(([kind, count]) => `${count} ${kind}`).join(", "));
  expect(wrong).toEqual([]);
  expect(program.stderr()).not.toContain('"level":"error"');
  expect(compared.filter(isTooMuch)).toEqual([]);
  await until("its descriptors", () => descriptorsOf(program) <= atRest + 25);
  expect(await (await fetch(`${url}/health/ready`)).json()).toEqual({ status: "ok" });
  program.signal("SIGTERM");
  expect(await program.exited).toEqual({ code: 0, signal: null });
  expect(await readdir(temporary.path)).toEqual([]);
});

function isTooMuch({ last, bound }: Compared): boolean {
  return !(last <= bound);
}

function sampleOf(
  program: Program,
  {
    heapFile,
    times,
    second,
  }: { readonly heapFile: string; readonly times: readonly number[]; readonly second: number },
): Sample {
  const status = readFileSync(`/proc/${program.pid}/status`, "utf8");
  return {
    second,
    rss: Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024,
    heap: Number(readFileSync(heapFile, "utf8")) / MIB,
    descriptors: descriptorsOf(program),
    threads: Number(/^Threads:\s+(\d+)/m.exec(status)?.[1]),
    answers: times.length,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
  };
}

function descriptorsOf({ pid }: Program): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function print(values: readonly (string | number)[]): void {
  console.log(values.map((value) => (typeof value === "string" ? value : value.toFixed(1)).padStart(12)).join(""));
}
