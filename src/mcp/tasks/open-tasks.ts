import type { Report } from "../../events.ts";
import { RequestFailure } from "../../failure.ts";
import type { After } from "../../time-limit.ts";
import type { McpEvent } from "../events.ts";
import { rpcErrorOf } from "../failed-outcome.ts";
import type { OpenCall } from "../open-calls.ts";
import { isExpired } from "./memory-store.ts";
import type { Task, TaskCall, TaskOrResult, TaskState, TaskStore, Tasks } from "./task.ts";
import { openTaskSlots } from "./task-slots.ts";

const SWEEP_MS = 60_000;
const TIMED_OUT = Symbol("timed out");

export function openTasks(options: {
  readonly store: TaskStore;
  readonly now: () => number;
  readonly after: After;
  readonly randomId: () => string;
  readonly report: Report;
  readonly publish: (event: McpEvent) => void;
}): Tasks {
  const { store, now, after, randomId, publish } = options;
  const slots = openTaskSlots();
  const working = new Map<string, { readonly openCall: OpenCall; readonly leaveQueue: () => boolean }>();
  let cancelSweep: (() => void) | undefined;

  function scheduleSweep(): void {
    cancelSweep ??= after(SWEEP_MS, () => {
      cancelSweep = undefined;
      store.sweep(now()).then(
        (left) => left > 0 && scheduleSweep(),
        (error: unknown) => options.report({ kind: "unexpected", requestId: "", error }),
      );
    });
  }

  async function create({ openCall, owner, origin, settings }: TaskCall, leaveQueue: () => boolean): Promise<Task> {
    const at = now();
    const { ttlMs, pollIntervalMs } = settings;
    const state = { kind: "working" } as const;
    const { client } = origin;
    const task = { id: randomId(), owner, client, createdAt: at, updatedAt: at, ttlMs, pollIntervalMs, state };
    openCall.detach();
    working.set(task.id, { openCall, leaveQueue });
    await store.save(task);
    scheduleSweep();
    return task;
  }

  /** The first final state wins: the result of a cancelled call is discarded. */
  async function settle(task: Task, state: TaskState): Promise<void> {
    const found = working.get(task.id);
    if (found === undefined) return;
    working.delete(task.id);
    const settledTask = { ...task, state, updatedAt: now() };
    await store.save(settledTask);
    publish({ kind: "task-changed", task: settledTask });
  }

  async function settleWhenDone(
    task: Task,
    running: Promise<string>,
    { openCall, origin, requestId }: TaskCall,
  ): Promise<void> {
    try {
      await settle(task, { kind: "completed", result: `{${await running}}` });
    } catch (error) {
      if (openCall.stop.signal.aborted) await settle(task, { kind: "cancelled" });
      else await settle(task, { kind: "failed", error: rpcErrorOf(error, { protocol: "modern", requestId }, options) });
    } finally {
      openCall.close();
      slots.release(origin);
    }
  }

  function reportUnexpected(work: Promise<void>, { requestId }: TaskCall): void {
    work.catch((error: unknown) => options.report({ kind: "unexpected", requestId, error }));
  }

  async function runNow({ run, openCall }: TaskCall): Promise<TaskOrResult> {
    try {
      return { kind: "done", members: await run() };
    } finally {
      openCall.close();
    }
  }

  /** Queues the call as a task, so that the client does not wait. If the queue is full, the call runs now, and the client waits. */
  async function runQueued(call: TaskCall): Promise<TaskOrResult> {
    const queued = slots.enqueue(call.origin, call.settings);
    if (queued === undefined) return runNow(call);
    const task = await create(call, queued.leaveQueue);
    reportUnexpected(
      // A call that was stopped in the queue does not run. Its task becomes cancelled.
      queued.ready.then(() =>
        settleWhenDone(task, call.openCall.stop.signal.aborted ? Promise.reject() : call.run(), call),
      ),
      call,
    );
    return { kind: "task", task };
  }

  /** Runs the call. It becomes a task if it takes too long. */
  async function runOrDefer(call: TaskCall): Promise<TaskOrResult> {
    const { openCall, origin, settings } = call;
    const running = call.run();
    let isTask = false;
    try {
      const first = await Promise.race([running, timeout(settings.afterMs, running)]);
      if (first !== TIMED_OUT) return { kind: "done", members: first };
      // If there are too many tasks, the client waits for the result.
      if (!slots.acquire(origin, settings)) return { kind: "done", members: await running };
      const task = await create(call, () => false).catch((error: unknown) => {
        slots.release(origin);
        openCall.stop.abort(new RequestFailure({ kind: "internal" }));
        throw error;
      });
      isTask = true;
      reportUnexpected(settleWhenDone(task, running, call), call);
      return { kind: "task", task };
    } finally {
      if (!isTask) openCall.close();
    }
  }

  /** Resolves after `ms`. Clears its timer if the work ends first. */
  function timeout(ms: number, running: Promise<unknown>): Promise<typeof TIMED_OUT> {
    return new Promise((resolve) => {
      const cancel = after(ms, () => resolve(TIMED_OUT));
      running.then(cancel, cancel);
    });
  }

  return {
    run: (call) => (call.settings.afterMs === 0 ? runQueued(call) : runOrDefer(call)),
    async find(id, owner) {
      const task = await store.find(id);
      return task?.owner === owner && !isExpired(task, now()) ? task : undefined;
    },
    async cancel(task) {
      const found = working.get(task.id);
      if (found === undefined) return;
      // Nothing else closes a call that never started.
      if (found.leaveQueue()) found.openCall.close();
      await settle(task, { kind: "cancelled" });
      found.openCall.stop.abort(new RequestFailure({ kind: "cancelled" }));
    },
    close: () => cancelSweep?.(),
  };
}
