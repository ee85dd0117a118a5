// The cost of schedules: one heap with one timer (src/cache/schedule.ts), compared with a Node timer for each entry.
//   npm run build && node --expose-gc bench/schedule.mjs
// Without --expose-gc, the memory per entry would include garbage.
// EIDER_BENCH_ROUNDS (default 7) sets the rounds after warm-up.
import { afterMs, openSchedule, scheduledTask } from "../dist/cache/schedule.js";

const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 7);
const ENTRIES = 100_000;
const delayOf = (index) => 600_000 + (index % 1_000);
const work = () => {};

const candidates = {
  "one heap, one timer": () => {
    const schedule = openSchedule({ now: Date.now, after: afterMs });
    schedule.start();
    const tasks = Array.from({ length: ENTRIES }, () => scheduledTask(work));
    return {
      setAll: () => tasks.forEach((task, index) => schedule.set(task, delayOf(index))),
      close: () => schedule.close(),
    };
  },
  "one Node timer per entry": () => {
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

if (globalThis.gc === undefined) throw new Error("run this with node --expose-gc");
for (const [name, open] of Object.entries(candidates)) {
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  const { setAll, close } = open();
  setAll();
  globalThis.gc();
  const bytes = Math.round((process.memoryUsage().heapUsed - before) / ENTRIES);
  const times = Array.from({ length: ROUNDS + 2 }, () => {
    const from = performance.now();
    setAll();
    return performance.now() - from;
  }).slice(2);
  const ms = times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)];
  close();
  console.log(`${name}: ${((ms * 1e3) / ENTRIES).toFixed(2)} µs to reschedule an entry, ${bytes} bytes per entry`);
}
