import type { After } from "../time-limit.ts";

/** A task in a schedule. */
export interface ScheduledTask {
  readonly work: () => void;
  /** When it is due, by the time of the schedule. */
  at: number;
  /** Its index in the heap; -1 when it is not scheduled. */
  heapIndex: number;
}

export function scheduledTask(work: () => void): ScheduledTask {
  return { work, at: 0, heapIndex: -1 };
}

/** Runs tasks when they fall due, with one timer for all. */
export interface Schedule {
  /** The time of the schedule: milliseconds since it was opened. Never goes back, even if the clock is set back. */
  time(): number;
  /** Schedules a task, or reschedules it. */
  set(task: ScheduledTask, delayMs: number): void;
  clear(task: ScheduledTask): void;
  /** Milliseconds until a task is due; undefined when it is not scheduled. */
  remaining(task: ScheduledTask): number | undefined;
  /** Starts running tasks. */
  start(): void;
  close(): void;
}

/** The longest timer, so that tasks become due soon after the machine was suspended or its clock was set forward. */
const MAX_WAIT_MS = 60_000;

export function openSchedule({ now, after }: { readonly now: () => number; readonly after: After }): Schedule {
  const heap: ScheduledTask[] = [];
  let elapsed = 0;
  let lastNow = now();
  let isRunning = false;
  let timer: { readonly firesAt: number; readonly cancel: () => void } | undefined;

  function time(): number {
    const current = now();
    if (current > lastNow) elapsed += current - lastNow;
    lastNow = current;
    return elapsed;
  }

  /** Starts a timer for the first task, unless the current timer fires early enough. */
  function arm(): void {
    const [first] = heap;
    if (!isRunning || first === undefined) return;
    const wait = Math.max(1, Math.ceil(Math.min(MAX_WAIT_MS, first.at - time())));
    const firesAt = elapsed + wait;
    if (timer !== undefined && timer.firesAt <= firesAt) return;
    timer?.cancel();
    timer = { firesAt, cancel: after(wait, tick) };
  }

  function tick(): void {
    // The timer has fired, so at least its delay has passed, even if the clock was set back meanwhile.
    elapsed = Math.max(time(), timer?.firesAt ?? 0);
    timer = undefined;
    const tickTime = elapsed;
    try {
      for (let first = heap[0]; first !== undefined && first.at <= tickTime; first = heap[0]) {
        remove(heap, first);
        first.work();
      }
    } finally {
      arm();
    }
  }

  return {
    time,
    set(task, delayMs) {
      remove(heap, task);
      // At least one millisecond later, so that a task that reschedules itself runs in the next tick.
      task.at = time() + Math.max(1, delayMs);
      insert(heap, task);
      arm();
    },
    clear: (task) => remove(heap, task),
    remaining: (task) => (task.heapIndex < 0 ? undefined : Math.max(0, task.at - time())),
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

/** Starts a Node timer that does not keep the process alive. */
export const afterMs: After = (ms, work) => {
  const timer = setTimeout(work, ms).unref();
  return () => clearTimeout(timer);
};

// A binary heap. Each task knows its index, so that it can be removed from anywhere in the heap.

function insert(heap: ScheduledTask[], task: ScheduledTask): void {
  task.heapIndex = heap.length;
  heap.push(task);
  siftUp(heap, task);
}

function remove(heap: ScheduledTask[], task: ScheduledTask): void {
  const { heapIndex } = task;
  if (heapIndex < 0) return;
  task.heapIndex = -1;
  const last = heap.pop();
  if (last === undefined || last === task) return;
  heap[heapIndex] = last;
  last.heapIndex = heapIndex;
  siftUp(heap, last);
  siftDown(heap, last);
}

function siftUp(heap: ScheduledTask[], task: ScheduledTask): void {
  while (task.heapIndex > 0) {
    const parent = heap[(task.heapIndex - 1) >> 1];
    if (parent === undefined || parent.at <= task.at) return;
    swap(heap, parent, task);
  }
}

function siftDown(heap: ScheduledTask[], task: ScheduledTask): void {
  for (;;) {
    const left = heap[2 * task.heapIndex + 1];
    const right = heap[2 * task.heapIndex + 2];
    const child = right !== undefined && left !== undefined && right.at < left.at ? right : left;
    if (child === undefined || child.at >= task.at) return;
    swap(heap, child, task);
  }
}

function swap(heap: ScheduledTask[], one: ScheduledTask, other: ScheduledTask): void {
  const { heapIndex } = one;
  one.heapIndex = other.heapIndex;
  other.heapIndex = heapIndex;
  heap[one.heapIndex] = one;
  heap[other.heapIndex] = other;
}
