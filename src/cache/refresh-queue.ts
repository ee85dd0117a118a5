/**
 * How urgent a refresh is. `call`: runs at once as the query of a call, limited by the engine. `read`: calls wait for a shared
 * refresh. `background`: no call waits.
 */
export type RefreshPriority = "call" | "read" | "background";

/** A refresh in the queue. */
export interface Job {
  /** Never rejects. */
  readonly start: () => Promise<void>;
  /** Ends it, whether it runs or still waits. */
  readonly stop: () => void;
}

/** Limits how many refreshes run at once: those that calls wait for come first. */
export interface RefreshQueue {
  add(job: Job, priority: RefreshPriority): void;
  /** A call waits for it now: it moves forward, unless it runs already. */
  prioritize(job: Job, priority: RefreshPriority): void;
  /** Starts nothing more; stops what runs and waits for it. */
  close(): Promise<void>;
}

export function openRefreshQueue(maxConcurrent: number): RefreshQueue {
  // Sets keep the order of arrival, and allow removal.
  const queues = { read: new Set<Job>(), background: new Set<Job>() };
  const running = new Map<Job, Promise<void>>();
  let counted = 0;
  let closed = false;

  async function run(job: Job): Promise<void> {
    const work = job.start();
    running.set(job, work);
    await work;
    running.delete(job);
  }

  async function runCounted(job: Job): Promise<void> {
    counted++;
    await run(job);
    counted--;
    next();
  }

  function next(): void {
    for (const queue of [queues.read, queues.background]) {
      for (const job of queue) {
        if (closed || counted >= maxConcurrent) return;
        queue.delete(job);
        void runCounted(job);
      }
    }
  }

  function add(job: Job, priority: RefreshPriority): void {
    if (closed) {
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
        next();
    }
  }

  return {
    add,
    prioritize(job, priority) {
      if (priority === "background") return;
      if (queues.background.delete(job) || (priority === "call" && queues.read.delete(job))) add(job, priority);
    },
    async close() {
      closed = true;
      const waiting = [...queues.read, ...queues.background];
      queues.read.clear();
      queues.background.clear();
      for (const job of [...waiting, ...running.keys()]) job.stop();
      await Promise.all(running.values());
    },
  };
}
