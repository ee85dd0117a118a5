import type { After } from "../time-limit.ts";

export type { After };

/** A task that falls due. It belongs to one schedule. */
export interface ScheduledTask {
  readonly work: () => void;
  /** In schedule time. */
  at: number;
  /** Its index in the heap; -1 when it is not scheduled. */
  place: number;
}

export function scheduledTask(work: () => void): ScheduledTask {
  return { work, at: 0, place: -1 };
}

/** Runs tasks when they fall due, with one timer for all. */
export interface Schedule {
  /** Milliseconds that never run backwards, even when the clock is changed. */
  time(): number;
  /** Schedules it, instead of its earlier time if any. */
  set(due: ScheduledTask, delayMs: number): void;
  clear(due: ScheduledTask): void;
  /** Milliseconds until it is due; undefined when it is not scheduled. */
  remaining(due: ScheduledTask): number | undefined;
  /** Until then, nothing runs. */
  start(): void;
  close(): void;
}

/** How soon a suspended machine or a changed clock is noticed. It is also below the largest timer delay. */
const LONGEST_WAIT_MS = 60_000;

export function openSchedule({ now, after }: { readonly now: () => number; readonly after: After }): Schedule {
  const heap: ScheduledTask[] = [];
  let elapsed = 0;
  let seen = now();
  let isRunning = false;
  let timer: { readonly until: number; readonly cancel: () => void } | undefined;

  function time(): number {
    const current = now();
    if (current > seen) elapsed += current - seen;
    seen = current;
    return elapsed;
  }

  function arm(): void {
    const [first] = heap;
    if (!isRunning || first === undefined) return;
    const wait = Math.max(1, Math.ceil(Math.min(LONGEST_WAIT_MS, first.at - time())));
    const until = elapsed + wait;
    if (timer !== undefined && timer.until <= until) return;
    timer?.cancel();
    timer = { until, cancel: after(wait, tick) };
  }

  function tick(): void {
    // The timer has waited that long, even if the clock was set back meanwhile.
    elapsed = Math.max(time(), timer?.until ?? 0);
    timer = undefined;
    const until = elapsed;
    for (let first = heap[0]; first !== undefined && first.at <= until; first = heap[0]) {
      remove(heap, first);
      first.work();
    }
    arm();
  }

  return {
    time,
    set(due, delayMs) {
      remove(heap, due);
      // At least one millisecond later, so that a task that reschedules itself runs in the next tick.
      due.at = time() + Math.max(1, delayMs);
      insert(heap, due);
      arm();
    },
    clear: (due) => remove(heap, due),
    remaining: (due) => (due.place < 0 ? undefined : Math.max(0, due.at - time())),
    start() {
      isRunning = true;
      arm();
    },
    close() {
      isRunning = false;
      timer?.cancel();
      timer = undefined;
    },
  };
}

/** The default timer: it does not keep the process alive. */
export const afterMs: After = (ms, work) => {
  const timer = setTimeout(work, ms).unref();
  return () => clearTimeout(timer);
};

// A binary heap whose items know their index, so that any of them can be removed.

function insert(heap: ScheduledTask[], due: ScheduledTask): void {
  due.place = heap.length;
  heap.push(due);
  rise(heap, due);
}

function remove(heap: ScheduledTask[], due: ScheduledTask): void {
  const { place } = due;
  if (place < 0) return;
  due.place = -1;
  const last = heap.pop();
  if (last === undefined || last === due) return;
  heap[place] = last;
  last.place = place;
  rise(heap, last);
  sink(heap, last);
}

function rise(heap: ScheduledTask[], due: ScheduledTask): void {
  while (due.place > 0) {
    const parent = heap[(due.place - 1) >> 1];
    if (parent === undefined || parent.at <= due.at) return;
    swap(heap, parent, due);
  }
}

function sink(heap: ScheduledTask[], due: ScheduledTask): void {
  for (;;) {
    const left = heap[2 * due.place + 1];
    const right = heap[2 * due.place + 2];
    const child = right !== undefined && left !== undefined && right.at < left.at ? right : left;
    if (child === undefined || child.at >= due.at) return;
    swap(heap, child, due);
  }
}

function swap(heap: ScheduledTask[], one: ScheduledTask, other: ScheduledTask): void {
  const { place } = one;
  one.place = other.place;
  other.place = place;
  heap[one.place] = one;
  heap[other.place] = other;
}
