import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";

/** The code of the thread. It caches compiled patterns, of which a project has a limited number. */
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const { RE2JS } = require(workerData);
const compiled = new Map();
parentPort.on("message", ({ id, source, text }) => {
  if (!compiled.has(source)) compiled.set(source, RE2JS.compile(source));
  parentPort.postMessage({ id, matches: compiled.get(source).testExact(text) });
});
`;

interface Pending {
  readonly resolve: (matches: boolean) => void;
  readonly reject: (error: Error) => void;
}

interface Thread {
  readonly worker: Worker;
  readonly pending: Map<number, Pending>;
}

let thread: Thread | undefined;
let lastId = 0;

/**
 * Matches a long string on another thread, because even in linear time, a megabyte would block other requests for too long. The
 * pattern must be valid. The first call starts the thread.
 */
export function matchOnThread(source: string, text: string): Promise<boolean> {
  thread ??= startThread();
  const { worker, pending } = thread;
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    pending.set(id, { resolve, reject });
    worker.postMessage({ id, source, text });
  });
}

function startThread(): Thread {
  const workerData = createRequire(import.meta.url).resolve("re2js");
  const worker = new Worker(PROGRAM, { eval: true, workerData });
  const pending = new Map<number, Pending>();
  worker.on("message", ({ id, matches }: { id: number; matches: boolean }) => {
    pending.get(id)?.resolve(matches);
    pending.delete(id);
  });
  worker.on("error", (error) => {
    thread = undefined;
    for (const { reject } of pending.values()) reject(error);
  });
  // The thread must not keep the process alive. The connections of waiting requests do.
  worker.unref();
  return { worker, pending };
}
