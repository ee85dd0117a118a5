import type { CurrentProcess } from "../spool/sweep.ts";

/** What a command sees of the process around it. Only `main.ts` builds it from the real one. */
export interface Runtime {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Opened only when a command reads it. */
  stdin(): Input;
  readonly now: () => Date;
  /** The system's folder for temporary files. */
  readonly temporary: string;
  readonly self: CurrentProcess;
  /** Calls the listener on every SIGTERM and SIGINT. */
  onStop(listener: () => void): void;
  /** Calls the listener on every SIGHUP. */
  onReload(listener: () => void): void;
  /** Ends the process now, whatever its threads are doing. */
  kill(): void;
}

export interface Output {
  readonly isTerminal: boolean;
  write(text: string): void;
}

export interface Input {
  readonly isTerminal: boolean;
  /** Pieces as they come. A terminal delivers every key, even Ctrl-C, and shows none. Leaving the loop closes it. */
  read(): AsyncIterable<Uint8Array>;
  /** Pieces as they come; from a terminal, whole lines. */
  readPlain(): AsyncIterable<Uint8Array>;
  /** Ends the input for its reader. */
  close(): void;
}

/** Done, a problem in the project, wrong usage, could not listen or open: see docs/command-line.md. */
export const exitCodes = { done: 0, problem: 1, usage: 2, unavailable: 3 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly help: string;
  run(args: readonly string[], runtime: Runtime): Promise<ExitCode>;
}

/** The command line itself is wrong: exit code 2. */
export class UsageError extends Error {}
