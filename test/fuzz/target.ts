import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";

/** What all targets share by default; EIDER_FUZZ_SECONDS gives them more. */
const TOTAL_SECONDS = Number(process.env["EIDER_FUZZ_SECONDS"] ?? 16);

/** Of a target, however small its share. */
const LEAST_MS = 1_500;
/** Repeats a search that failed. */
const SEED = process.env["EIDER_FUZZ_SEED"];

/** Something that takes input from anybody, and what must hold whatever it is given. */
export interface Fuzzed<Input> {
  /** Also the name of the file with its cases. */
  readonly name: string;
  /** Of the time for all. */
  readonly share: number;
  /** Inputs are JSON: bytes are texts with one character for each. */
  readonly inputs: fc.Arbitrary<Input>;
  /** Makes ready what `check` needs. `check` rejects when something does not hold. */
  readonly open: () => Promise<{ check(input: Input): Promise<void> } & AsyncDisposable>;
}

/** A target whose input is nobody's business. */
export interface Target {
  readonly name: string;
  readonly timeoutMs: number;
  /** Every case that was found or thought of before. Gives their number. */
  readonly replay: () => Promise<number>;
  /** New inputs until the time is over. Gives their number. */
  readonly search: () => Promise<number>;
}

interface Case<Input> {
  /** What it is about, or what it once broke. */
  readonly why: string;
  readonly input: Input;
}

export function target<Input>({ name, share, inputs, open }: Fuzzed<Input>): Target {
  const milliseconds = Math.max(LEAST_MS, TOTAL_SECONDS * 1000 * share);
  // When the process dies or hangs nobody can print the input: then it is found here.
  const journal = join(tmpdir(), `eider-fuzz-${name}.json`);
  return {
    name,
    timeoutMs: milliseconds + 60_000,
    async replay() {
      const path = join(import.meta.dirname, "cases", `${name}.json`);
      const cases: readonly Case<Input>[] = JSON.parse(readFileSync(path, "utf8"));
      await using session = await open();
      for (const { why, input } of cases) {
        await session.check(input).catch((error: unknown) => {
          throw new Error(`${why}: ${messageOf(error)}`, { cause: error });
        });
      }
      return cases.length;
    },
    async search() {
      await using session = await open();
      let last: Promise<void> = Promise.resolve();
      const property = fc.asyncProperty(inputs, async (input) => {
        writeFileSync(journal, JSON.stringify(input));
        last = session.check(input);
        await last;
      });
      const result = await fc.check(property, {
        ...(SEED === undefined ? {} : { seed: Number(SEED) }),
        numRuns: Number.MAX_SAFE_INTEGER,
        interruptAfterTimeLimit: milliseconds,
        // The first input that breaks something ends the search; this long it may be made smaller.
        skipAllAfterTimeLimit: milliseconds + 20_000,
      });
      // When the time is over nobody waits for the last one: it must not work on while its things are taken away.
      await last.catch(() => {});
      rmSync(journal, { force: true });
      if (result.failed && result.counterexample !== null) {
        const input = JSON.stringify(result.counterexample[0]);
        const why = messageOf(result.errorInstance);
        throw new Error(
          `${why}\nseed ${result.seed}; for test/fuzz/cases/${name}.json:\n{ "why": "", "input": ${input} }`,
        );
      }
      return result.numRuns;
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Milliseconds of work since it was made: other processes of a busy machine do not count. */
export function stopwatch(): () => number {
  const from = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(from);
    return (user + system) / 1000;
  };
}

/** Fails with a message unless something holds. */
export function must(holds: boolean, message: () => string): void {
  if (!holds) throw new Error(message());
}
