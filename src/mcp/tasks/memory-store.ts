import type { Task, TaskStore } from "./task.ts";

/** Results are kept for clients that may never come back for them. */
const MAX_FINISHED = 1_000;

/** Tasks that are gone with the process. */
export function memoryTaskStore(maxFinished = MAX_FINISHED): TaskStore {
  const working = new Map<string, Task>();
  /** The one that was over first stands first. */
  const finished = new Map<string, Task>();
  return {
    async save(task) {
      if (task.state.kind === "working") {
        working.set(task.id, task);
        return;
      }
      working.delete(task.id);
      finished.set(task.id, task);
      if (finished.size > maxFinished) finished.delete(finished.keys().next().value ?? "");
    },
    find: async (id) => working.get(id) ?? finished.get(id),
    async sweep(now) {
      for (const task of [...finished.values()]) if (isOver(task, now)) finished.delete(task.id);
      return working.size + finished.size;
    },
  };
}

/** One that still works is kept: the limits of its query end it. */
export function isOver({ state, updatedAt, ttlMs }: Task, now: number): boolean {
  return state.kind !== "working" && now - updatedAt >= ttlMs;
}
