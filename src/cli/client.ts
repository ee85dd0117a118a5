import { writeClient } from "../client/client-files.ts";
import { generateClient } from "../client/generate-client.ts";
import { type NumberMode, numberModes } from "../client/value-type.ts";
import { type Command, type Runtime, UsageError } from "./command.ts";
import { projectOptionsHelp, readOptions } from "./options.ts";
import { withProject } from "./with-project.ts";

export const client: Command = {
  name: "client",
  summary: "write a typed TypeScript client for a project",
  help: `Usage: eider client [options]

Opens the project as \`check\` does and writes one TypeScript file without dependencies: a typed method for each endpoint,
for Node.js, Deno and browsers. Runs no template and opens no port.

Options:
${projectOptionsHelp}
      --out FILE        write to this file (default: standard output)
      --bigint TYPE     type of BIGINT, HUGEINT and DECIMAL values in rows: bigint (default; decimals are strings),
                        string, or number (exact up to 15 digits)

Example:
  eider client --config project/eider.yaml --out client.ts`,
  async run(args, runtime) {
    const { flags: _, values, ...options } = readOptions(args, [], ["out", "bigint"]);
    const mode = modeOf(values.get("bigint"));
    return await withProject(options, runtime, {
      purpose: "check",
      copiesLocked: true,
      async run(service) {
        await writeOutput(await generateClient(service, { bigint: mode }), values.get("out"), runtime);
        return undefined;
      },
    });
  },
};

async function writeOutput(text: string, out: string | undefined, { cwd, stdout }: Runtime): Promise<void> {
  if (out === undefined) {
    stdout.write(text);
    return;
  }
  try {
    await writeClient(out, cwd, text);
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? error.code : error;
    throw new UsageError(`--out: cannot write '${out}' (${reason})`);
  }
}

function modeOf(value: string | undefined): NumberMode {
  if (value === undefined) return "bigint";
  const mode = numberModes.find((each) => each === value);
  if (mode === undefined)
    throw new UsageError(`--bigint: '${value}' is not valid; use one of ${numberModes.join(", ")}`);
  return mode;
}
