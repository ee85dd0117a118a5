import { textBytes } from "../../bounded/own-text.ts";
import type { Task, TaskStore } from "./task.ts";

/** Limits for finished tasks, because clients may never fetch their results. */
export interface FinishedLimits {
  readonly tasks: number;
  readonly bytes: number;
  /** So that one client cannot evict the results of all others. */
  readonly bytesPerClient: number;
}

const MIB = 1024 * 1024;
const MAX_FINISHED: FinishedLimits = { tasks: 1_000, bytes: 64 * MIB, bytesPerClient: 16 * MIB };
/** Overhead of a task, besides its result. */
const TASK_BYTES = 512;

/** Stores tasks in memory. They do not survive a restart. */
export function memoryTaskStore(limits = MAX_FINISHED): TaskStore {
  const working = new Map<string, Task>();
  /** In the order in which they finished. */
  const finished = new Map<string, Task>();
  const clientBytes = new Map<string, number>();
  let bytes = 0;

  function addBytes(client: string, change: number): void {
    bytes += change;
    const sum = (clientBytes.get(client) ?? 0) + change;
    if (sum === 0) clientBytes.delete(client);
    else clientBytes.set(client, sum);
  }

  function remove(task: Task): void {
    if (finished.delete(task.id)) addBytes(task.client, -taskBytes(task));
  }

  function addFinished(task: Task): void {
    finished.set(task.id, task);
    addBytes(task.client, taskBytes(task));
    for (const old of finished.values()) {
      // The newest is kept at any size, because its client has not fetched it yet.
      if ((clientBytes.get(task.client) ?? 0) <= limits.bytesPerClient || old === task) break;
      if (old.client === task.client) remove(old);
    }
    for (const old of finished.values()) {
      if ((finished.size <= limits.tasks && bytes <= limits.bytes) || old === task) break;
      remove(old);
    }
  }

  return {
    async save(task) {
      if (task.state.kind === "working") {
        working.set(task.id, task);
        return;
      }
      working.delete(task.id);
      addFinished(task);
    },
    find: async (id) => working.get(id) ?? finished.get(id),
    async sweep(now) {
      for (const task of [...finished.values()]) if (isExpired(task, now)) remove(task);
      return working.size + finished.size;
    },
  };
}

function taskBytes({ owner, state }: Task): number {
  const bytes = TASK_BYTES + textBytes(owner);
  switch (state.kind) {
    case "working":
    case "cancelled":
      return bytes;
    case "completed":
      return bytes + textBytes(state.result);
    case "failed":
      return bytes + textBytes(state.error.message) + textBytes(state.error.data ?? "");
  }
}

/** A running task never expires: the limits of its query end it. */
export function isExpired({ state, updatedAt, ttlMs }: Task, now: number): boolean {
  return state.kind !== "working" && now - updatedAt >= ttlMs;
}
