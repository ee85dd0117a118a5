import { parseArgs } from "node:util";
import { type LogLevel, logLevels } from "../config/schema/main.ts";
import { errorMessage } from "../error-message.ts";
import { UsageError } from "./command.ts";

/** Options of every command that loads a project. */
export interface ProjectOptions {
  readonly config: string | undefined;
  readonly port: number | undefined;
  readonly host: string | undefined;
  readonly logLevel: LogLevel | undefined;
  readonly logFormat: "pretty" | "json" | undefined;
}

export const projectOptionsHelp = `  -c, --config FILE     configuration file (default: eider.yaml, then flapi.yaml, in the working directory)
  -p, --port N          port of the REST listener
      --host ADDRESS    address of the REST listener
      --log-level LEVEL ${logLevels.join(", ")}
      --log-format F    pretty or json`;

/** Parses the arguments of a command; `flags` are its own flags. */
export function readOptions<Flag extends string>(
  args: readonly string[],
  flags: readonly Flag[],
): ProjectOptions & { readonly flags: ReadonlySet<Flag> } {
  const { positionals: _, ...options } = readOptionsAndNames(args, flags, false);
  return options;
}

/** The same for a command that also takes names. */
export function readOptionsAndNames<Flag extends string>(
  args: readonly string[],
  flags: readonly Flag[],
  takesNames = true,
): ProjectOptions & { readonly flags: ReadonlySet<Flag>; readonly positionals: readonly string[] } {
  const { values, positionals } = parse(args, flags, takesNames);
  const own = flags.filter((flag) => values[flag] === true);
  return {
    config: text(values["config"]),
    port: portOf(text(values["port"])),
    host: text(values["host"]),
    logLevel: oneOf("log-level", text(values["log-level"]), logLevels),
    logFormat: oneOf("log-format", text(values["log-format"]), ["pretty", "json"] as const),
    flags: new Set(own),
    positionals,
  };
}

function parse(
  args: readonly string[],
  flags: readonly string[],
  allowPositionals: boolean,
): { readonly values: Record<string, unknown>; readonly positionals: readonly string[] } {
  try {
    return parseArgs({
      args: [...args],
      options: {
        config: { type: "string", short: "c" },
        port: { type: "string", short: "p" },
        host: { type: "string" },
        "log-level": { type: "string" },
        "log-format": { type: "string" },
        // A flag of flAPI: there is no telemetry to turn off.
        "no-telemetry": { type: "boolean" },
        ...Object.fromEntries(flags.map((flag) => [flag, { type: "boolean" as const }])),
      },
      allowPositionals,
    });
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function portOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value);
  throw new UsageError(`--port: '${value}' is not a port; use 0 to 65535 (0 picks a free port)`);
}

function oneOf<T extends string>(name: string, value: string | undefined, allowed: readonly T[]): T | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw new UsageError(`--${name}: '${value}' is not valid; use one of ${allowed.join(", ")}`);
  return found;
}
