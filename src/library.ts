import { client } from "./cli/client.ts";
import { exitCodes } from "./cli/command.ts";
import type { NumberMode } from "./client/value-type.ts";
import { processRuntime } from "./main.ts";

export interface ClientOptions {
  /** The configuration file; by default `eider.yaml`, `eider.yml` or `flapi.yaml` in the working directory. */
  readonly config?: string;
  /** The TypeScript type of BIGINT, HUGEINT and DECIMAL in rows, as in `eider client --bigint`. */
  readonly bigint?: NumberMode;
}

/** The source of a typed TypeScript client, as `eider client` writes it. Rejects with an Error that lists all problems. */
export async function clientOf({ config, bigint }: ClientOptions = {}): Promise<string> {
  const runtime = processRuntime();
  const pieces: string[] = [];
  const problems: string[] = [];
  const args = [
    ...(config === undefined ? [] : ["--config", config]),
    ...(bigint === undefined ? [] : ["--bigint", bigint]),
  ];
  const code = await client.run(args, {
    ...runtime,
    stdout: { isTerminal: false, write: (text) => void pieces.push(text) },
    stderr: { isTerminal: false, write: (text) => void problems.push(text) },
  });
  if (code !== exitCodes.done) throw new Error(problems.join("").trimEnd());
  return pieces.join("");
}
