import { openStop } from "../engines/stop.ts";
import { RequestFailure } from "../failure.ts";
import type { McpCore, McpRequest } from "./core.ts";
import { reaches } from "./envelope.ts";
import type { LogLevel, McpCall } from "./mcp-service.ts";
import type { OpenCall } from "./open-calls.ts";
import { notification } from "./reply.ts";

/** A call that was ended from outside; `reason` is what its signal says. */
export class StoppedCall extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super("stopped");
    this.name = "StoppedCall";
    this.reason = reason;
  }
}

/** Runs work as a call, and closes it. Rejects with a StoppedCall when it was ended from outside. */
export async function withCall<T>(request: McpRequest, core: McpCore, work: (call: McpCall) => Promise<T>): Promise<T> {
  const open = openCall(request, core);
  try {
    return await rejectIfStopped(open, work(open.call));
  } finally {
    open.close();
  }
}

/** What comes of a call, unless the client does not want it any more. */
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
/** Small enough that it never reaches the next step that a call tells of itself. */
const HEARTBEAT_STEP = 0.01;

export function openCall(request: McpRequest, core: McpCore): OpenCall {
  const { era, id, identity, meta, owner, sender, session } = request;
  const { reply, requestId, address } = sender;
  const stop = openStop();
  const remove = core.calls.add(stop, sender.cancelScope(era, owner, session), id);
  let isAttached = true;
  if (era === "modern") {
    reply.onLeave(() => {
      if (isAttached) stop.abort(new RequestFailure({ kind: "cancelled" }));
    });
  }
  const token = meta.progressToken;
  const threshold = era === "modern" ? meta.logLevel : logThreshold(request);
  const canSend = (token !== undefined || threshold !== undefined) && reply.takes(era);
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
      progress: (done, total, message) => progress?.tell(done, total, message),
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

/** A legacy client hears what its session asks for; without one, what everybody hears by default. */
function logThreshold({ session }: McpRequest): number {
  return session?.logLevel ?? INFO;
}

const INFO = 1;

function logMessage(level: LogLevel, text: string): string {
  return notification("notifications/message", `"level":"${level}","data":${JSON.stringify(text)}`);
}

interface Progress {
  tell(done: number, total: number, message: string): void;
  close(): void;
}

/** Values that only grow. When nothing is told for a while they grow by a little, so that nobody gives up. */
function openProgress(token: string, send: (message: string) => void, { after }: Pick<McpCore, "after">): Progress {
  let last: { readonly done: number; readonly total: number | undefined; readonly message: string } | undefined;
  let cancelTimer = after(HEARTBEAT_MS, beat);
  function tell(done: number, total: number | undefined, message: string): void {
    if (last !== undefined && done <= last.done) return;
    last = { done, total, message };
    const optional = `${total === undefined ? "" : `,"total":${total}`},"message":${JSON.stringify(message)}`;
    send(notification("notifications/progress", `"progressToken":${token},"progress":${done}${optional}`));
  }
  function beat(): void {
    const next = Math.round(((last?.done ?? 0) + HEARTBEAT_STEP) * 100) / 100;
    tell(next, last?.total, last?.message ?? "running");
    cancelTimer = after(HEARTBEAT_MS, beat);
  }
  return { tell, close: () => cancelTimer() };
}
