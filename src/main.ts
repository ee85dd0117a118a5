import { tmpdir } from "node:os";
import type { Input, Output, Runtime } from "./cli/command.ts";
import { runCommandLine } from "./cli/run.ts";
import { controlHeapGrowth } from "./engines/heap-growth.ts";

/** The real process as a Runtime. Only this file uses `process`. */
export function processRuntime(): Runtime {
  return {
    cwd: process.cwd(),
    env: process.env,
    stdout: outputOf(process.stdout),
    stderr: outputOf(process.stderr),
    writeBytes: (bytes) => new Promise((resolve) => process.stdout.write(bytes, (error) => resolve(error == null))),
    stdin: () => inputOf(process.stdin),
    now: () => new Date(),
    temporary: tmpdir(),
    self: { pid: process.pid, startedAt: performance.timeOrigin, isRunning },
    onStop(listener) {
      process.on("SIGTERM", listener);
      process.on("SIGINT", listener);
    },
    onReload: (listener) => void process.on("SIGHUP", listener),
    // `process.exit` would wait for every query on another thread.
    kill: () => void process.kill(process.pid, "SIGKILL"),
  };
}

export async function main(args: readonly string[]): Promise<void> {
  // Not earlier: V8 uses no code cache that was made with other flags, neither that of the program nor that of Node.js.
  controlHeapGrowth();
  // A closed pipe (`eider check | head`) must not print a stack trace.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const runtime = processRuntime();
  process.exitCode = await runCommandLine(args, runtime);
  // Work that waits for a server keeps the process alive, and cannot always be interrupted.
  setTimeout(() => runtime.kill(), LINGER_MS).unref();
}

/** How long a finished command may wait for other threads. */
const LINGER_MS = 30_000;

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // The process exists, but belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function outputOf(stream: NodeJS.WriteStream): Output {
  return { isTerminal: stream.isTTY === true, write: (text) => void stream.write(text) };
}

function inputOf(stream: NodeJS.ReadStream): Input {
  const isTerminal = stream.isTTY === true;
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of stream) yield Buffer.from(piece);
    } finally {
      if (isTerminal) stream.setRawMode(false);
    }
  }
  return {
    isTerminal,
    read() {
      // Before the first read, because the user may already be typing.
      if (isTerminal) stream.setRawMode(true);
      return pieces();
    },
    readPlain: pieces,
    close: () => void stream.push(null),
  };
}
