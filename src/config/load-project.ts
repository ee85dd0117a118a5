import { rejectDuplicates, rejectSharedTables } from "./duplicates.ts";
import { readEndpointFiles } from "./endpoint-files.ts";
import type { Variables } from "./env-file.ts";
import { type Files, openFiles } from "./files.ts";
import { openIncludes } from "./includes.ts";
import { compileMain, type Overrides } from "./main-config.ts";
import { type MainFile, readMainFile } from "./main-file.ts";
import { warnOfUnserved } from "./mcp-entry.ts";
import { formatProblem, inOrder, type KeyPath, type Problem } from "./problem.ts";
import type { LoadedProject, Project } from "./project.ts";
import { reporterOf } from "./reporter.ts";
import { shareCaches } from "./shared-caches.ts";
import { isRemote, openTemplates } from "./template-file.ts";
import type { Report } from "./tree.ts";
import { openYamlFiles } from "./yaml-file.ts";

export interface LoadOptions {
  /** As given by --config. */
  readonly file?: string | undefined;
  readonly cwd: string;
  readonly env: Variables;
  readonly overrides: Overrides;
  /** The file `.env` beside the main file is not read. */
  readonly ignoresEnvFile?: boolean;
}

/** Loads a project. Reports all problems at once. */
export async function loadProject(options: LoadOptions): Promise<LoadedProject> {
  const problems: Problem[] = [];
  const files = openFiles(options.cwd);
  const project = readProject(options, files, (problem) => problems.push(problem));
  const sorted = inOrder(withoutDuplicates(problems));
  const errors = sorted.filter(({ severity }) => severity === "error");
  return {
    project: errors.length > 0 ? undefined : project,
    validPart: project && validPartOf(project, errors),
    problems: sorted,
    files: files.requested(),
  };
}

/** Blocks of the main file that affect every endpoint. */
const FOUNDATIONS = /^(?:connections|duckdb|template)\b/;

/** The endpoints without errors. Undefined if an error may affect all, such as one in an included file. */
function validPartOf(project: Project, errors: readonly Problem[]): Project | undefined {
  const files = new Set(project.endpoints.map(({ file }) => file));
  const mainFile = project.main.locate([]).file;
  const spreads = errors.some(({ location: { file }, path }) =>
    file === mainFile ? FOUNDATIONS.test(path) : !files.has(file),
  );
  if (spreads) return undefined;
  const broken = new Set(errors.map(({ location }) => location.file));
  return { ...project, endpoints: project.endpoints.filter(({ file }) => !broken.has(file)) };
}

function readProject(options: LoadOptions, files: Files, report: Report): Project | undefined {
  const { file, cwd, env, overrides, ignoresEnvFile = false } = options;
  const yaml = openYamlFiles(files, report);
  const mainFile = readMainFile(file, { cwd, env, ignoresEnvFile, files, yaml, report });
  if (mainFile === undefined) return undefined;
  const { path, input, positions, environment, envFile } = mainFile;
  const main = compileMain({ file: path, input, positions, env: { ...envFile, ...env }, overrides, files }, report);

  const paths = mainFile.broken.has("template") ? [] : endpointPaths(mainFile, main.templatePath, { files, report });
  const endpoints = readEndpointFiles(paths, {
    files,
    yaml,
    read: openIncludes({ files, yaml, environment, report, roots: [main.folder, main.templatePath] }),
    endpoints: {
      connections: main.connections,
      connectionsAreValid: !mainFile.broken.has("connections"),
      findTemplate: openTemplates(main.templatePath, files),
      access: main.access,
      cacheStorage: main.cache,
      limits: main.limits,
      hasHeartbeats: main.observability.heartbeatMs !== undefined || mainFile.broken.has("heartbeat"),
      report,
    },
    report,
  });
  rejectDuplicates(endpoints, report);
  // With `enabled: false`, this is intended.
  if (input.mcp === undefined && !mainFile.broken.has("mcp")) {
    warnOfUnserved(endpoints, files.display(path), report);
  }
  const own = { auth: main.access.auth, locate: main.locate };
  const forAgents = { auth: main.mcp?.auth?.policy, locate: (path: KeyPath) => main.locate(["mcp", ...path]) };
  rejectSharedTables([own, forAgents, ...endpoints.map(({ config }) => config)], report);

  return {
    main,
    endpoints: shareCaches(
      endpoints.map(({ config }) => config),
      endpoints.flatMap(({ brokenCaches }) => brokenCaches),
      report,
    ),
    environment: environment.values,
    environmentAllows: environment.allows,
    envFile,
  };
}

interface Reading {
  readonly files: Files;
  readonly report: Report;
}

function endpointPaths(main: MainFile, templatePath: string, { files, report }: Reading): readonly string[] {
  const problem = (message: string) => reporterOf(main.positions, report).error(["template", "path"], message);
  const written = main.input.template.path;
  if (isRemote(written)) {
    problem(`'${written}' is remote, and remote folders are not supported yet; copy it beside the configuration file`);
    return [];
  }
  const listing = files.list(templatePath, (name) => /\.ya?ml$/i.test(name));
  if (listing.ok) return listing.files.filter((found) => found !== main.path);
  problem(`the folder ${files.display(listing.folder)} cannot be read: ${listing.reason}`);
  return [];
}

/** A problem in an included file is found once per include, but reported once. */
function withoutDuplicates(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((problem) => [formatProblem(problem), problem])).values()];
}
