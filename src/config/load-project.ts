import { runInSlices, type Sliced } from "../slices.ts";
import { rejectDuplicates, rejectSharedSecretTables } from "./duplicates.ts";
import { type EndpointFiles, readEndpointFiles } from "./endpoint-files.ts";
import type { Variables } from "./env-file.ts";
import { type Files, openFiles } from "./files.ts";
import { isFlapiFile } from "./flapi-keys.ts";
import { openIncludes } from "./includes.ts";
import { type Journal, openJournal, type Recorded } from "./journal.ts";
import { compileMain, type Overrides } from "./main-config.ts";
import { type MainFile, readMainFile } from "./main-file.ts";
import { warnAboutOpenEntry, warnAboutUnservedEntries } from "./mcp-entry.ts";
import { formatProblem, type KeyPath, type Problem, sortProblems } from "./problem.ts";
import type { LoadedProject, MainConfig, Project } from "./project.ts";
import { canBeListed, insecureAddressWarning } from "./remote-address.ts";
import { openRemoteCopies, type TemporaryFiles } from "./remote-copies.ts";
import { reporterOf } from "./reporter.ts";
import { kindKeys } from "./schema/endpoint.ts";
import { shareCaches } from "./shared-caches.ts";
import { openTemplates } from "./template-file.ts";
import { isTestFile } from "./test-file-name.ts";
import { type Report, warningAt } from "./tree.ts";
import { openYamlFiles, type YamlFiles } from "./yaml-file.ts";

export interface LoadOptions {
  /** As given by --config. */
  readonly file?: string | undefined;
  readonly cwd: string;
  readonly env: Variables;
  readonly overrides: Overrides;
  /** If true, the file `.env` beside the main file is not read. */
  readonly ignoresEnvFile?: boolean;
  /** If true, remote files are not read, and their endpoints are left out. */
  readonly isOffline?: boolean;
  /** Given the files on disk, returns the files of the project: these and others, or only others. */
  readonly overlay?: ((disk: Files) => Files) | undefined;
  /** Where temporary files may be created, to read remote files. */
  readonly temporaryFiles?: TemporaryFiles;
  /** The parts of the previous load, with the same options. Those whose files have not changed are reused. */
  readonly previous?: LoadedParts | undefined;
}

/** The parts of a load. An unchanged part stays the same object, so code that uses it need not look for changes. */
export interface LoadedParts {
  /** The environment variables of the process. */
  readonly env: string;
  readonly main: Recorded<Main | undefined>;
  /** Empty if the main file cannot be read. */
  readonly endpoints: EndpointFiles;
}

interface Main {
  readonly mainFile: MainFile;
  readonly main: MainConfig;
}

export interface LoadResult extends LoadedProject {
  readonly parts: LoadedParts;
}

/** Loads a project. Reports all problems at once. */
export async function loadProject(options: LoadOptions): Promise<LoadResult> {
  const remote = openRemoteCopies(options.temporaryFiles);
  try {
    for (;;) {
      const problems: Problem[] = [];
      const disk = openFiles(options.cwd, remote);
      const files = options.overlay?.(disk) ?? disk;
      const { project, parts } = await runInSlices(readProject(options, files, (problem) => problems.push(problem)));
      const sorted = sortProblems(withoutDuplicates(problems));
      const errors = sorted.filter(({ severity }) => severity === "error");
      // Each pass may find more remote files. If `connections` has errors, none are fetched: their credentials may be missing.
      const canFetch = options.isOffline !== true && project !== undefined && !hasSharedError(project.main, errors);
      if (canFetch && (await remote.fetch(project.main))) continue;
      return {
        project: errors.length > 0 ? undefined : project,
        validPart: project && validPartOf(project, errors),
        problems: sorted,
        files: files.requestedFiles(),
        parts,
      };
    }
  } finally {
    remote.close();
  }
}

/** Blocks of the main file that affect every endpoint. */
const SHARED_BLOCKS = /^(?:connections|duckdb|template)\b/;

function hasSharedError({ locate }: MainConfig, errors: readonly Problem[]): boolean {
  const mainFile = locate([]).file;
  return errors.some(({ location, path }) => location.file === mainFile && SHARED_BLOCKS.test(path));
}

/** The endpoints without errors. Undefined if an error may affect all, such as one in an included file. */
function validPartOf(project: Project, errors: readonly Problem[]): Project | undefined {
  const files = new Set([project.main.locate([]).file, ...project.endpoints.map(({ file }) => file)]);
  if (hasSharedError(project.main, errors) || errors.some(({ location }) => !files.has(location.file)))
    return undefined;
  const broken = new Set(errors.map(({ location }) => location.file));
  return { ...project, endpoints: project.endpoints.filter(({ file }) => !broken.has(file)) };
}

interface ReadProject {
  readonly project: Project | undefined;
  readonly parts: LoadedParts;
}

function* readProject(options: LoadOptions, allFiles: Files, reportProblem: Report): Sliced<ReadProject> {
  const journal = openJournal(allFiles, reportProblem);
  const { files, report } = journal;
  const yaml = openYamlFiles(files, report);
  const env = JSON.stringify(options.env);
  const previous =
    options.previous?.env === env && journal.isCurrent(options.previous.main) ? options.previous : undefined;
  if (previous !== undefined) journal.replay(previous.main);
  const read = previous?.main ?? journal.record(() => readMain(options, journal, yaml));
  if (read.value === undefined) return { project: undefined, parts: { env, main: read, endpoints: new Map() } };
  const { mainFile, main } = read.value;
  const { path, input, environment, envFile } = mainFile;
  yield;

  const paths = mainFile.broken.has("template") ? [] : endpointPaths(mainFile, main, { files, report });
  const endpointFiles = yield* readEndpointFiles(paths, {
    journal,
    yaml,
    // Every endpoint depends on the main file.
    previous: previous?.endpoints ?? new Map(),
    read: openIncludes({ ...journal, yaml, environment, roots: [main.folder, main.templatePath] }),
    endpoints: {
      connections: main.connections,
      connectionsAreValid: !mainFile.broken.has("connections"),
      findTemplate: openTemplates(main.templateAddress ?? main.templatePath, files),
      access: main.access,
      cacheStorage: main.cache,
      limits: main.limits,
      httpStatus: main.httpStatus,
      isFlapi: isFlapiFile(path),
      hasHeartbeats: main.observability.heartbeatMs !== undefined || mainFile.broken.has("heartbeat"),
      report,
    },
  });
  const endpoints = [...endpointFiles.values()].flatMap(({ value }) => value ?? []);
  rejectDuplicates(endpoints, report);
  yield;
  // Without an `mcp` block, only a flAPI project serves MCP. With `mcp.enabled: false`, not serving it is intended.
  if (input.mcp === undefined && !mainFile.broken.has("mcp")) {
    if (main.mcp === undefined) warnAboutUnservedEntries(endpoints, files.display(path), report);
    else warnAboutOpenEntry(endpoints, main.http.host, report);
  }
  const restAuth = { auth: main.access.auth, locate: main.locate };
  const mcpAuth = { auth: main.mcp?.auth?.policy, locate: (path: KeyPath) => main.locate(["mcp", ...path]) };
  rejectSharedSecretTables([restAuth, mcpAuth, ...endpoints.map(({ config }) => config)], report);

  const project: Project = {
    main,
    endpoints: shareCaches(
      endpoints.flatMap(({ config, isUnread }) => (isUnread ? [] : config)),
      endpoints.flatMap(({ brokenCaches }) => brokenCaches),
      report,
    ),
    environment: environment.values,
    environmentAllows: environment.allows,
    envFile,
  };
  return { project, parts: { env, main: read, endpoints: endpointFiles } };
}

function readMain(options: LoadOptions, journal: Journal, yaml: YamlFiles): Main | undefined {
  const { file, cwd, env, overrides, ignoresEnvFile = false } = options;
  const { files, report } = journal;
  const mainFile = readMainFile(file, { ...journal, cwd, env, ignoresEnvFile, yaml });
  if (mainFile === undefined) return undefined;
  const { path, input, positions, envFile } = mainFile;
  const main = compileMain({ file: path, input, positions, env: { ...envFile, ...env }, overrides, files }, report);
  return { mainFile, main };
}

type TemplatePaths = Pick<MainConfig, "templatePath" | "templateAddress">;

interface LoadContext {
  readonly files: Files;
  readonly report: Report;
}

function endpointPaths(mainFile: MainFile, main: TemplatePaths, { files, report }: LoadContext): readonly string[] {
  const { error, warning, securityWarning } = reporterOf(mainFile.positions, report);
  const at = ["template", "path"];
  const danger = insecureAddressWarning(mainFile.input.template.path);
  if (danger !== undefined) securityWarning(at, danger);
  const isYaml = (name: string): boolean => /\.ya?ml$/i.test(name);
  const { templatePath, templateAddress } = main;
  if (templateAddress !== undefined && canBeListed(templateAddress)) {
    const address = files.display(templateAddress);
    const listing = files.list(templateAddress, isYaml);
    if (listing === undefined) warning(at, `${address} is remote and was not read; its endpoints were not checked`);
    else if (!listing.ok) error(at, `${address} cannot be read: ${listing.reason}`);
    if (listing?.ok !== true) return [];
    if (listing.files.length > 0) return withoutTests(listing.files, { files, report });
    warning(at, `${address} contains no YAML files; the folder of the configuration file is searched instead`);
  }
  // A local folder, or a web server, whose files cannot be listed: the endpoints are in the local folder.
  const listing = files.list(templatePath, isYaml);
  if (listing?.ok === true) {
    return withoutTests(listing.files, { files, report }).filter((found) => found !== mainFile.path);
  }
  if (listing !== undefined) error(at, `the folder ${files.display(listing.folder)} cannot be read: ${listing.reason}`);
  return [];
}

const TOP_LEVEL_KIND = new RegExp(`^(?:${kindKeys.join("|")}) *:`, "m");

/** Leaves out the files of endpoint tests. Warns about one that was probably meant as an endpoint. */
function withoutTests(paths: readonly string[], { files, report }: LoadContext): readonly string[] {
  return paths.filter((path) => {
    if (!isTestFile(path)) return true;
    const read = files.read(path);
    const location = { file: files.display(path), line: 1, column: 1 };
    const message = "a file with this name holds tests and is no endpoint; rename it";
    if (read.ok && TOP_LEVEL_KIND.test(read.text)) report(warningAt(location, [], message));
    return false;
  });
}

/** A problem in an included file is found once per include, but reported once. */
function withoutDuplicates(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((problem) => [formatProblem(problem), problem])).values()];
}
