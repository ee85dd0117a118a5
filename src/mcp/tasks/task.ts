import type { TaskSettings } from "../../config/mcp-config.ts";
import type { JsonText } from "../mcp-service.ts";
import type { OpenCall } from "../open-calls.ts";
import type { RpcError } from "../protocol.ts";
import type { TaskOrigin } from "./task-slots.ts";

export type TaskState =
  | { readonly kind: "working" }
  /** Includes results with `isError`; `failed` is only for JSON-RPC errors. */
  | { readonly kind: "completed"; readonly result: JsonText }
  | { readonly kind: "failed"; readonly error: RpcError }
  | { readonly kind: "cancelled" };

/** A call whose result is fetched later. */
export interface Task {
  /** Unguessable. */
  readonly id: string;
  /** The key of the identity that it belongs to. */
  readonly owner: string;
  /** The `clientKey` under which results are counted. */
  readonly client: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  readonly state: TaskState;
}

/** Stores tasks. A persistent store can replace the one in memory. */
export interface TaskStore {
  save(task: Task): Promise<void>;
  find(id: string): Promise<Task | undefined>;
  /** Deletes expired tasks. Returns how many are left. */
  sweep(now: number): Promise<number>;
}

/** A task as clients see it: the members of a JSON object, without the braces around them. */
export function taskMembers({ id, createdAt, updatedAt, ttlMs, pollIntervalMs, state }: Task): string {
  const times = `"createdAt":"${isoTime(createdAt)}","lastUpdatedAt":"${isoTime(updatedAt)}"`;
  const head = `"taskId":${JSON.stringify(id)},"status":"${state.kind}",${times}`;
  return `${head},"ttlMs":${ttlMs},"pollIntervalMs":${pollIntervalMs}${outcomeMembers(state)}`;
}

function outcomeMembers(state: TaskState): string {
  switch (state.kind) {
    case "working":
    case "cancelled":
      return "";
    case "completed":
      return `,"result":${state.result}`;
    case "failed": {
      const { code, message, data } = state.error;
      const text = JSON.stringify(message);
      const more = data === undefined ? "" : `,"data":${data}`;
      return `,"statusMessage":${text},"error":{"code":${code},"message":${text}${more}}`;
    }
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** A call that may become a task. `run` returns the members of its result. */
export interface TaskCall {
  readonly run: () => Promise<string>;
  readonly openCall: OpenCall;
  readonly owner: string;
  /** The client and the memory that count towards the limits. */
  readonly origin: TaskOrigin;
  readonly requestId: string;
  readonly settings: TaskSettings;
}

export type TaskOrResult =
  | { readonly kind: "done"; readonly members: string }
  | { readonly kind: "task"; readonly task: Task };

/** Runs calls that may take longer than a client should wait. */
export interface Tasks {
  /** Runs a call and closes it when it ends. Rejects with the error of the call, unless it became a task. */
  run(call: TaskCall): Promise<TaskOrResult>;
  /** Undefined if this owner has no such task. */
  find(id: string, owner: string): Promise<Task | undefined>;
  /** Cancels the call of a task. Has no effect on a finished task. */
  cancel(task: Task): Promise<void>;
  close(): void;
}
