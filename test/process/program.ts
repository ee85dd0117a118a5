import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { PassThrough } from "node:stream";
import { runCommandLine } from "../../src/cli/run.ts";
import { testRuntime } from "../runtime.ts";
import { until } from "../until.ts";

/** What a program left behind. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The real program, as a shell would start it. */
export interface Program extends AsyncDisposable {
  readonly folder: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  stdout(): string;
  stderr(): string;
  signal(name: NodeJS.Signals): void;
  hasExited(): boolean;
  /** The address that it prints when it is ready; what it said instead when it ends before. */
  url(): Promise<string>;
  /** The same for MCP. */
  mcpUrl(): Promise<string>;
  /** Writes to its input, with `input: "pipe"`. */
  send(text: string): void;
  endInput(): void;
}

/** A project's files by name. */
export type Files = Readonly<Record<string, string | undefined>>;

export interface StartOptions {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  /** Default: the folder of the files. */
  readonly cwd?: string;
  /** Default: it reads nothing. */
  readonly input?: "pipe";
  /** How many file descriptors it may have. Default: as many as the test. */
  readonly descriptors?: number;
  /** The most private memory that the kernel lets it have, in KiB (`ulimit -d`). */
  readonly dataLimitKiB?: number;
}

const PROGRAM = resolve(import.meta.dirname, "../../bin/eider.cjs");

/** A folder with files, deleted when it is disposed of. */
export async function folderWith(files: Files): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "eider-process-"));
  for (const [name, text] of Object.entries(files)) {
    if (text === undefined) continue;
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Starts `eider` in a folder with these files. Disposing of it kills what still runs. */
export async function start(files: Files, options: StartOptions = {}): Promise<Program> {
  const { args = [], env = {}, cwd, input, descriptors, dataLimitKiB } = options;
  const folder = await folderWith(files);
  const limits = [
    ...(descriptors === undefined ? [] : [`ulimit -n ${descriptors}`]),
    ...(dataLimitKiB === undefined ? [] : [`ulimit -d ${dataLimitKiB}`]),
  ];
  const program = [process.execPath, PROGRAM, ...args] as const;
  const [command, ...words] =
    limits.length === 0 ? program : ["sh", "-c", `${limits.join(" && ")} && exec "$@"`, "sh", ...program];
  const child = spawn(command, words, {
    cwd: cwd ?? folder.path,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
    stdio: [input ?? "ignore", "pipe", "pipe"],
  });
  // It may end while somebody still writes.
  child.stdin?.on("error", () => {});
  const output = outputOf(child);
  let ended: Exit | undefined;
  const exited = new Promise<Exit>((done) => {
    child.once("close", (code, signal) => {
      ended = { code, signal };
      done(ended);
    });
  });
  const addressOf = (name: string): Promise<string> => addressIn(output, name, () => ended);
  return {
    folder: folder.path,
    pid: child.pid ?? 0,
    exited,
    stdout: output.stdout,
    stderr: output.stderr,
    signal: (name) => void child.kill(name),
    hasExited: () => ended !== undefined,
    url: () => addressOf("REST"),
    mcpUrl: () => addressOf("MCP"),
    send: (text) => void child.stdin?.write(text),
    endInput: () => void child.stdin?.end(),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The same without a process of its own: for what does not depend on one. Templates see the folder of the tests as theirs. */
export async function startHere(files: Files, { args = [], env = {} }: StartOptions = {}): Promise<Program> {
  const folder = await folderWith(files);
  const listeners: Record<"stop" | "reload", (() => void)[]> = { stop: [], reload: [] };
  const input = new PassThrough();
  const runtime = {
    ...testRuntime({ cwd: folder.path, env }),
    now: () => new Date(),
    stdin: () => ({ isTerminal: false, read: () => input, readPlain: () => input, close: () => void input.end() }),
    onStop: (listener: () => void) => void listeners.stop.push(listener),
    onReload: (listener: () => void) => void listeners.reload.push(listener),
    kill() {},
  };
  const signal = (name: NodeJS.Signals): void => {
    for (const listener of listeners[name === "SIGHUP" ? "reload" : "stop"]) listener();
  };
  let ended: Exit | undefined;
  const exited = runCommandLine(args, runtime).then((code): Exit => {
    ended = { code, signal: null };
    return ended;
  });
  const output = { stdout: runtime.stdoutText, stderr: runtime.stderrText };
  return {
    folder: folder.path,
    pid: process.pid,
    exited,
    ...output,
    signal,
    hasExited: () => ended !== undefined,
    url: () => addressIn(output, "REST", () => ended),
    mcpUrl: () => addressIn(output, "MCP", () => ended),
    send: (text) => void input.write(text),
    endInput: () => void input.end(),
    async [Symbol.asyncDispose]() {
      // The second one waits for no call.
      for (const _ of [1, 2]) if (ended === undefined) signal("SIGTERM");
      await exited;
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Runs `eider` to its end. */
export async function run(
  files: Files,
  options: StartOptions = {},
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  await using program = await start(files, options);
  const { code } = await program.exited;
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}

/** The same without a process: for what only depends on the arguments and the files. */
export async function runHere(files: Files, { args = [], env = {}, cwd }: StartOptions = {}): ReturnType<typeof run> {
  await using folder = await folderWith(files);
  const runtime = testRuntime({ cwd: cwd ?? folder.path, env });
  const code = await runCommandLine(args, runtime);
  return { code, stdout: runtime.stdoutText(), stderr: runtime.stderrText() };
}

interface WrittenOutput {
  stdout(): string;
  stderr(): string;
}

async function addressIn(output: WrittenOutput, name: string, ended: () => Exit | undefined): Promise<string> {
  const line = new RegExp(`^${name} listening on (https?://\\S+)\\n`, "m");
  const found = await until(
    `the line of the listener for ${name}`,
    () => line.exec(output.stdout())?.[1] ?? (ended() && "none"),
  );
  if (found === "none") throw new Error(`ended with ${ended()?.code}:\n${output.stderr()}`);
  return found;
}

function outputOf(child: ChildProcess): WrittenOutput {
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      texts[name] += text;
    });
  }
  return { stdout: () => texts.stdout, stderr: () => texts.stderr };
}
