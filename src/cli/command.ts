import type { CurrentProcess } from "../spool/sweep.ts";

/** The process in which a command runs. Only `main.ts` creates the real one. */
export interface Runtime {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Writes to standard output. Resolves when that is done. False if nothing reads it any more. */
  writeBytes(bytes: Uint8Array): Promise<boolean>;
  /** Opened on first use. */
  stdin(): Input;
  readonly now: () => Date;
  /** The system's folder for temporary files. */
  readonly temporary: string;
  readonly self: CurrentProcess;
  /** Calls the listener on every SIGTERM and SIGINT. */
  onStop(listener: () => void): void;
  /** Calls the listener on every SIGHUP. */
  onReload(listener: () => void): void;
  /** Ends the process immediately, even if its threads are busy. */
  kill(): void;
}

export interface Output {
  readonly isTerminal: boolean;
  write(text: string): void;
}

export interface Input {
  readonly isTerminal: boolean;
  /** Chunks of input. A terminal delivers every key press, even Ctrl-C, without echo. Ending the iteration closes the input. */
  read(): AsyncIterable<Uint8Array>;
  /** Chunks of input. A terminal delivers whole lines. */
  readPlain(): AsyncIterable<Uint8Array>;
  /** Ends the iteration of the reader. */
  close(): void;
}

/** See docs/command-line.md. */
export const exitCodes = { done: 0, problem: 1, usage: 2, unavailable: 3 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly help: string;
  run(args: readonly string[], runtime: Runtime): Promise<ExitCode>;
}

/** The command line is invalid: exit code 2. */
export class UsageError extends Error {}
