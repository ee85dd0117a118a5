import { resolve } from "node:path";
import { readEnvFile, type Variables } from "./env-file.ts";
import { compilePattern, type Environment, openEnvironment, type Pattern } from "./environment.ts";
import { fileIdentity } from "./files.ts";
import { mainRules } from "./flapi-keys.ts";
import { openIncludes } from "./includes.ts";
import type { Journal } from "./journal.ts";
import { applyKeyRules } from "./key-rules.ts";
import { parseTree } from "./parse-tree.ts";
import { leaf, readEntries } from "./read-tree.ts";
import { type MainInput, mainSchema } from "./schema/main.ts";
import { BROKEN, dataAt, errorAt, type NodePositions, type Report, valueLocation } from "./tree.ts";
import type { YamlFile, YamlFiles } from "./yaml-file.ts";

const defaultNames: readonly string[] = ["eider.yaml", "eider.yml", "flapi.yaml"];

/** Whether a folder contains a main file with a default name. */
export async function hasMainFile(folder: string): Promise<boolean> {
  const found = await Promise.all(defaultNames.map((name) => fileIdentity(resolve(folder, name))));
  return found.some((identity) => identity !== undefined);
}

/** The main file that the environment names. */
export function mainFileFrom(env: Variables): string | undefined {
  return env["EIDER_CONFIG"] || env["FLAPI_CONFIG"] || undefined;
}

export interface MainFile {
  readonly path: string;
  readonly input: MainInput;
  readonly positions: NodePositions;
  readonly broken: ReadonlySet<string>;
  readonly environment: Environment;
  /** The variables from `.env`. */
  readonly envFile: Variables;
}

export interface MainFileContext extends Pick<Journal, "files" | "report" | "record" | "replay"> {
  readonly cwd: string;
  readonly env: Variables;
  readonly ignoresEnvFile: boolean;
  readonly yaml: YamlFiles;
}

/** Reads the given main file, or the first with a default name. Undefined if this fails, which is already reported. */
export function readMainFile(file: string | undefined, context: MainFileContext): MainFile | undefined {
  const { env, files, report } = context;
  const named = file ?? mainFileFrom(env);
  const candidates = (named === undefined ? defaultNames : [named]).map((name) => resolve(context.cwd, name));
  for (const path of candidates) {
    const opened = context.yaml.open(path);
    if (opened.kind === "broken") return undefined;
    if (opened.kind === "parsed") return parseMainFile(opened.file, context);
  }
  const [first = context.cwd] = candidates;
  const message = named === undefined ? `not found, and neither is ${defaultNames.slice(1).join(" or ")}` : "not found";
  const hint = "name the configuration file with --config, or create a project with 'eider init'";
  report(errorAt({ file: files.display(first), line: 1, column: 1 }, [], `${message}; ${hint}`));
  return undefined;
}

function parseMainFile(file: YamlFile, context: MainFileContext): MainFile | undefined {
  const { report } = context;
  const folder = resolve(file.path, "..");
  const envFile = context.ignoresEnvFile ? {} : readEnvFile(folder, context.files, report);
  const environment = openEnvironment(readWhitelist(file, report), { ...envFile, ...context.env });
  const tree = openIncludes({ ...context, environment, roots: [folder] })(file);
  applyKeyRules(tree, mainRules, report);
  const { value, broken } = parseTree(tree, mainSchema, report);
  return value === undefined
    ? undefined
    : { path: file.path, input: value, positions: tree.positions, broken, environment, envFile };
}

/** Reads the whitelist without substitution, because it decides which variables may be substituted. */
function readWhitelist(file: YamlFile, report: Report): readonly Pattern[] {
  const emptyEnvironment = openEnvironment([], {});
  const entries = readEntries(file, {
    environment: emptyEnvironment,
    report: () => {},
    include: (_, at) => leaf(BROKEN, at, at),
  });
  const patterns: Pattern[] = [];
  for (const entry of entries) {
    if (entry.kind !== "key" || (entry.name !== "template" && entry.name !== "environment-whitelist")) continue;
    const path = entry.name === "template" ? ["environment-whitelist"] : [];
    const { data, positions } = entry.read([entry.name]);
    const list = dataAt(data, path);
    for (const [index, pattern] of (Array.isArray(list) ? list : [list]).entries()) {
      if (typeof pattern !== "string") continue;
      const compiled = compilePattern(pattern);
      if (compiled !== undefined) patterns.push(compiled);
      else {
        const at = Array.isArray(list) ? [...path, index] : path;
        report(errorAt(valueLocation(positions, at), [entry.name, ...at], `'${pattern}' is not a regular expression`));
      }
    }
  }
  return patterns;
}
