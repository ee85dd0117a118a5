// The cost of schedules: one heap with one timer (src/cache/schedule.ts) compared with a Node timer for each entry.
//   npm run build && node --expose-gc bench/schedule.mjs
// EIDER_BENCH_ROUNDS (default 7) sets the rounds after warm-up.
import { afterMs, dueFor, openSchedule } from "../dist/cache/schedule.js";

const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 7);
const ENTRIES = 100_000;
const delayOf = (index) => 600_000 + (index % 1_000);
const work = () => {};

const candidates = {
  "one heap, one timer": () => {
    const schedule = openSchedule({ now: Date.now, after: afterMs });
    schedule.start();
    const dues = Array.from({ length: ENTRIES }, () => dueFor(work));
    return {
      setAll: () => dues.forEach((due, index) => schedule.set(due, delayOf(index))),
      close: () => schedule.close(),
    };
  },
  "a timer of Node each": () => {
    const timers = new Array(ENTRIES).fill(undefined);
    return {
      setAll: () =>
        timers.forEach((timer, index) => {
          clearTimeout(timer);
          timers[index] = setTimeout(work, delayOf(index)).unref();
        }),
      close: () => timers.forEach(clearTimeout),
    };
  },
};

for (const [name, open] of Object.entries(candidates)) {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const { setAll, close } = open();
  setAll();
  globalThis.gc?.();
  const bytes = Math.round((process.memoryUsage().heapUsed - before) / ENTRIES);
  const times = Array.from({ length: ROUNDS + 2 }, () => {
    const from = performance.now();
    setAll();
    return performance.now() - from;
  }).slice(2);
  const ms = times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)];
  close();
  console.log(`${name}: ${((ms * 1e3) / ENTRIES).toFixed(2)} µs to set again, ${bytes} bytes an entry`);
}
