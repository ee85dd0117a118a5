import { parseArgs } from "node:util";
import type { LoadOptions } from "../config/load-project.ts";
import { logLevelOf } from "../config/main-config.ts";
import { type LogLevel, logLevels } from "../config/schema/main.ts";
import { errorMessage } from "../error-message.ts";
import { type Runtime, UsageError } from "./command.ts";

/** Options of every command that loads a project. */
export interface ProjectOptions {
  readonly config: string | undefined;
  readonly port: number | undefined;
  readonly host: string | undefined;
  readonly logLevel: LogLevel | undefined;
  readonly logFormat: "pretty" | "json" | undefined;
  readonly ignoresEnvFile: boolean;
}

/** The options with which a command loads its project. */
export function loadOptionsOf(
  { config: file, ignoresEnvFile, port, host, logLevel, logFormat }: ProjectOptions,
  { cwd, env, temporary, self }: Pick<Runtime, "cwd" | "env" | "temporary" | "self">,
): LoadOptions {
  const overrides = { port, host, logLevel, logFormat };
  return { file, cwd, env, ignoresEnvFile, overrides, temporaryFiles: { temporary, self } };
}

export const projectOptionsHelp = `  -c, --config FILE     configuration file (default: eider.yaml, eider.yml or flapi.yaml in the working directory)
  -p, --port N          port of the REST listener
      --host ADDRESS    address of the REST listener
      --log-level LEVEL ${logLevels.join(", ")}
      --log-format F    pretty or json
      --no-env-file     do not read the file .env beside the configuration file`;

interface Options<Flag extends string> extends ProjectOptions {
  readonly flags: ReadonlySet<Flag>;
  /** The values of the command's own options. */
  readonly values: ReadonlyMap<string, string>;
}

/** Parses the arguments of a command. `flags` and `valued` are its own options, without and with a value. */
export function readOptions<Flag extends string>(
  args: readonly string[],
  flags: readonly Flag[],
  valued: readonly string[] = [],
): Options<Flag> {
  const { positionals: _, ...options } = parse(args, { flags, valued, allowPositionals: false });
  return options;
}

/** The same for a command that also takes names. */
export function readOptionsAndNames<Flag extends string>(
  args: readonly string[],
  flags: readonly Flag[],
  valued: readonly string[] = [],
): Options<Flag> & { readonly positionals: readonly string[] } {
  return parse(args, { flags, valued, allowPositionals: true });
}

interface AcceptedOptions<Flag extends string> {
  readonly flags: readonly Flag[];
  readonly valued: readonly string[];
  readonly allowPositionals: boolean;
}

function parse<Flag extends string>(
  args: readonly string[],
  { flags, valued, allowPositionals }: AcceptedOptions<Flag>,
) {
  const { values, positionals } = parseArguments(args, { flags, valued, allowPositionals });
  const own = valued.flatMap((name) => {
    const value = text(values[name]);
    if (value === "") throw new UsageError(`--${name}: missing value`);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    config: text(values["config"]),
    port: portOf(text(values["port"])),
    host: text(values["host"]),
    logLevel: levelOf(text(values["log-level"])),
    logFormat: oneOf("log-format", text(values["log-format"]), ["pretty", "json"] as const),
    ignoresEnvFile: values["no-env-file"] === true,
    flags: new Set(flags.filter((flag) => values[flag] === true)),
    values: new Map(own),
    positionals,
  };
}

function parseArguments(
  args: readonly string[],
  { flags, valued, allowPositionals }: AcceptedOptions<string>,
): { readonly values: Readonly<Record<string, unknown>>; readonly positionals: readonly string[] } {
  const names = (list: readonly string[], type: "boolean" | "string") =>
    Object.fromEntries(list.map((name) => [name, { type }]));
  try {
    return parseArgs({
      args: [...args],
      options: {
        config: { type: "string", short: "c" },
        port: { type: "string", short: "p" },
        ...names(["host", "log-level", "log-format", ...flapiOptions.valued, ...valued], "string"),
        ...names(["no-env-file", ...flapiOptions.flags, ...flags], "boolean"),
      },
      allowPositionals,
    });
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}

/** flAPI options that are accepted and ignored. */
const flapiOptions = { flags: ["no-telemetry", "config-service"], valued: ["config-service-token"] } as const;

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function portOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value);
  throw new UsageError(`--port: '${value}' is not a port; use 0 to 65535 (0 picks a free port)`);
}

function levelOf(value: string | undefined): LogLevel | undefined {
  return value === undefined ? undefined : (logLevelOf(value) ?? oneOf("log-level", value, logLevels));
}

function oneOf<T extends string>(name: string, value: string | undefined, allowed: readonly T[]): T | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw new UsageError(`--${name}: '${value}' is not valid; use one of ${allowed.join(", ")}`);
  return found;
}
