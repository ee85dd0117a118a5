import type { CurrentProcess } from "../spool/sweep.ts";

/** What a command sees of the world outside. Only `main.ts` makes one from the real process. */
export interface Runtime {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Opened by whoever reads it, and only then. */
  stdin(): Input;
  readonly now: () => Date;
  /** The system's folder for temporary files. */
  readonly temporary: string;
  readonly self: CurrentProcess;
  /** Hears of every SIGTERM and SIGINT. */
  onStop(listener: () => void): void;
  /** Hears of every SIGHUP. */
  onReload(listener: () => void): void;
  /** Ends the process now, whatever its threads are busy with. */
  kill(): void;
}

export interface Output {
  readonly isTerminal: boolean;
  write(text: string): void;
}

export interface Input {
  readonly isTerminal: boolean;
  /**
   * Pieces as they come. From now on a terminal gives every key, Ctrl-C too, and shows none. To leave the loop is to
   * close it.
   */
  read(): AsyncIterable<Uint8Array>;
  /** Pieces as they come, of a terminal whole lines. */
  readPlain(): AsyncIterable<Uint8Array>;
  /** Whoever reads it comes to its end. */
  close(): void;
}

/** done, a problem in the project, wrong usage, could not listen or open; decisions 11. */
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
