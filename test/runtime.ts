import type { Input, Runtime } from "../src/cli/command.ts";
import { testSelf } from "./self.ts";

export interface TestRuntime extends Runtime {
  stdoutText(): string;
  stderrText(): string;
}

/** A runtime for commands that run inside a test. It records their output. */
export function testRuntime(options: {
  readonly cwd: string;
  readonly env?: Record<string, string>;
  readonly stdin?: Pick<Input, "isTerminal" | "read">;
}): TestRuntime {
  const out: (string | Uint8Array)[] = [];
  const err: string[] = [];
  return {
    cwd: options.cwd,
    env: options.env ?? {},
    stdout: { isTerminal: false, write: (text) => out.push(text) },
    stderr: { isTerminal: false, write: (text) => err.push(text) },
    async writeBytes(bytes) {
      out.push(Buffer.from(bytes));
      return true;
    },
    stdin: () => ({ ...emptyInput, ...options.stdin }),
    now: () => new Date(0),
    ...testSelf,
    onStop() {},
    onReload() {},
    kill() {
      throw new Error("killed");
    },
    stdoutText: () => Buffer.concat(out.map((each) => Buffer.from(each))).toString(),
    stderrText: () => err.join(""),
  };
}

const emptyInput: Input = {
  isTerminal: false,
  read: async function* () {},
  readPlain: async function* () {},
  close() {},
};
