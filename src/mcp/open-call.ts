import { openStop } from "../engines/stop.ts";
import { RequestFailure } from "../failure.ts";
import type { McpCore, McpRequest } from "./core.ts";
import { reaches } from "./envelope.ts";
import type { LogLevel, McpCall } from "./mcp-service.ts";
import type { OpenCall } from "./open-calls.ts";
import { notification } from "./reply.ts";

/** Thrown if a call was cancelled or stopped. `reason` is the abort reason of its signal. */
export class StoppedCall extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super("stopped");
    this.name = "StoppedCall";
    this.reason = reason;
  }
}

/** Runs work as a call, and closes it. Rejects with a StoppedCall if the call was cancelled or stopped. */
export async function withCall<T>(request: McpRequest, core: McpCore, work: (call: McpCall) => Promise<T>): Promise<T> {
  const open = openCall(request, core);
  try {
    return await rejectIfStopped(open, work(open.call));
  } finally {
    open.close();
  }
}

/** Throws a StoppedCall if the client cancelled, or if the work failed after a stop. */
export async function rejectIfStopped<T>({ stop: { signal } }: OpenCall, work: Promise<T>): Promise<T> {
  try {
    const result = await work;
    if (signal.aborted && isCancel(signal.reason)) throw new StoppedCall(signal.reason);
    return result;
  } catch (error) {
    throw signal.aborted ? new StoppedCall(signal.reason) : error;
  }
}

function isCancel(reason: unknown): boolean {
  return reason instanceof RequestFailure && reason.failure.kind === "cancelled";
}

const HEARTBEAT_MS = 5_000;
/** Small, so that it stays below the next value that a call reports. */
const HEARTBEAT_STEP = 0.01;

export function openCall(request: McpRequest, core: McpCore): OpenCall {
  const { protocol, id, identity, meta, owner, sender, session } = request;
  const { reply, requestId, address } = sender;
  const stop = openStop();
  const remove = core.calls.add(stop, sender.cancelScope(protocol, owner, session), id);
  let isAttached = true;
  if (protocol === "modern") {
    reply.onDisconnect(() => {
      if (isAttached) stop.abort(new RequestFailure({ kind: "cancelled" }));
    });
  }
  const token = meta.progressToken;
  const threshold = protocol === "modern" ? meta.logLevel : session?.logLevel;
  const canSend = (token !== undefined || threshold !== undefined) && reply.accepts(protocol);
  const send = (message: string): void => {
    if (isAttached && !stop.signal.aborted) reply.send(message);
  };
  const progress = canSend && token !== undefined ? openProgress(token, send, core) : undefined;
  const detach = (): void => {
    isAttached = false;
    progress?.close();
  };
  return {
    call: {
      requestId,
      identity,
      address,
      signal: stop.signal,
      traceparent: meta.traceparent,
      progress: (done, total, message) => progress?.report(done, total, message),
      log(level, text) {
        if (canSend && reaches(level, threshold)) send(logMessage(level, text));
      },
    },
    stop,
    detach,
    close() {
      detach();
      remove();
    },
  };
}

function logMessage(level: LogLevel, text: string): string {
  return notification("notifications/message", `"level":"${level}","data":${JSON.stringify(text)}`);
}

interface Progress {
  report(done: number, total: number, message: string): void;
  close(): void;
}

/** Sends increasing values. Between reports, it increases them slightly, so that clients do not time out. */
function openProgress(token: string, send: (message: string) => void, { after }: Pick<McpCore, "after">): Progress {
  let last: { readonly done: number; readonly total: number | undefined; readonly message: string } | undefined;
  let cancelTimer = after(HEARTBEAT_MS, beat);
  function report(done: number, total: number | undefined, message: string): void {
    if (last !== undefined && done <= last.done) return;
    last = { done, total, message };
    const optional = `${total === undefined ? "" : `,"total":${total}`},"message":${JSON.stringify(message)}`;
    send(notification("notifications/progress", `"progressToken":${token},"progress":${done}${optional}`));
  }
  function beat(): void {
    const next = Math.round(((last?.done ?? 0) + HEARTBEAT_STEP) * 100) / 100;
    report(next, last?.total, last?.message ?? "running");
    cancelTimer = after(HEARTBEAT_MS, beat);
  }
  return { report, close: () => cancelTimer() };
}
