/**
 * How urgent a refresh is. `call`: runs immediately, like the query of a call; only the engine limits it. `read`: calls wait for
 * a shared refresh. `background`: no call waits.
 */
export type RefreshPriority = "call" | "read" | "background";

/** A refresh in the queue. */
export interface Job {
  /** Never rejects. */
  readonly start: () => Promise<void>;
  /** Stops it, whether it runs or still waits. */
  readonly stop: () => void;
}

/** Limits how many refreshes run at once: those that calls wait for come first. */
export interface RefreshQueue {
  add(job: Job, priority: RefreshPriority): void;
  /** Moves a job forward because a call waits for it now, unless it already runs. */
  prioritize(job: Job, priority: RefreshPriority): void;
  /** Starts no more jobs; stops all, and resolves when none runs. */
  close(): Promise<void>;
}

export function openRefreshQueue(maxConcurrent: number): RefreshQueue {
  // Sets keep the order of arrival, and allow removal.
  const queues = { read: new Set<Job>(), background: new Set<Job>() };
  const running = new Map<Job, Promise<void>>();
  /** Running jobs that count against the limit. */
  let runningCount = 0;
  let isClosed = false;

  async function run(job: Job): Promise<void> {
    const work = job.start();
    running.set(job, work);
    await work;
    running.delete(job);
  }

  async function runCounted(job: Job): Promise<void> {
    runningCount++;
    await run(job);
    runningCount--;
    startWaiting();
  }

  function startWaiting(): void {
    for (const queue of [queues.read, queues.background]) {
      for (const job of queue) {
        if (isClosed || runningCount >= maxConcurrent) return;
        queue.delete(job);
        void runCounted(job);
      }
    }
  }

  function add(job: Job, priority: RefreshPriority): void {
    if (isClosed) {
      job.stop();
      return;
    }
    switch (priority) {
      case "call":
        void run(job);
        return;
      case "read":
      case "background":
        queues[priority].add(job);
        startWaiting();
    }
  }

  return {
    add,
    prioritize(job, priority) {
      if (priority === "background") return;
      if (queues.background.delete(job) || (priority === "call" && queues.read.delete(job))) add(job, priority);
    },
    async close() {
      isClosed = true;
      const waiting = [...queues.read, ...queues.background];
      queues.read.clear();
      queues.background.clear();
      for (const job of [...waiting, ...running.keys()]) job.stop();
      await Promise.all(running.values());
    },
  };
}
