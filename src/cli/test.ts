import { type LoadedParts, loadProject } from "../config/load-project.ts";
import { hasErrors, oneLine } from "../config/problem.ts";
import type { Project } from "../config/project.ts";
import { type EndpointTest, loadTests, type TestFile } from "../config/test-files.ts";
import { escapeUnprintable } from "../printable.ts";
import { watchFiles } from "../serving/watch-files.ts";
import { type Hint, lintTools } from "../testing/lint-tools.ts";
import { runTests, setupProblems, type TestRunOptions } from "../testing/run-tests.ts";
import { type Command, type ExitCode, exitCodes, type Runtime, UsageError } from "./command.ts";
import { loadOptionsOf, type ProjectOptions, projectOptionsHelp, readOptionsAndNames } from "./options.ts";
import { reporters, type TestReport, type TestReporter } from "./test-reporters.ts";

const REPORTERS = Object.keys(reporters).join(", ");

export const test: Command = {
  name: "test",
  summary: "run the endpoint tests of the project",
  help: `Usage: eider test [pattern] [options]

Runs the tests in files named <name>.test.yaml beside the endpoints, over HTTP and MCP, against copies of the data. Prints what
differs, and the coverage. With a pattern, runs only tests whose file, endpoint or name contains it.

Options:
${projectOptionsHelp}
      --update          store the responses of tests with 'snapshot: true'
      --watch           run the affected tests again whenever a file changes
      --reporter NAME   ${REPORTERS} (default: plain)
      --json            the same as --reporter json
      --coverage-min N  fail if the coverage is below N percent

Example:
  eider test customers --config project/eider.yaml`,
  async run(args, runtime) {
    const read = readOptionsAndNames(args, ["update", "watch", "json"], ["reporter", "coverage-min"]);
    const { flags, values, positionals, ...options } = read;
    const [pattern = "", ...others] = positionals;
    if (others.length > 0) throw new UsageError(`test takes one pattern; found '${others[0]}' too`);
    const name = values.get("reporter") ?? (flags.has("json") ? "json" : "plain");
    const reporter = Object.hasOwn(reporters, name) ? reporters[name as keyof typeof reporters] : undefined;
    if (reporter === undefined) throw new UsageError(`--reporter: '${name}' is not valid; use one of ${REPORTERS}`);
    const settings: TestSettings = {
      options,
      pattern,
      reporter: reporter(runtime),
      minimum: percentOf(values.get("coverage-min")),
      update: flags.has("update"),
    };
    if (!flags.has("watch")) return await runOnce(settings, runtime);
    if (name !== "plain") throw new UsageError("--watch prints plain text; remove the reporter");
    return await watch(settings, runtime);
  },
};

interface TestSettings {
  readonly options: ProjectOptions;
  readonly pattern: string;
  readonly reporter: TestReporter;
  readonly minimum: number | undefined;
  readonly update: boolean;
}

function percentOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,3}$/.test(text) && Number(text) <= 100) return Number(text);
  throw new UsageError(`--coverage-min: '${text}' is not a percentage; use 0 to 100`);
}

interface LoadedProjectTests {
  readonly project: Project;
  readonly tests: readonly TestFile[];
  readonly files: readonly string[];
  readonly parts: LoadedParts;
}

/** Loads the project and its tests. Undefined if there are errors. Prints all problems. */
async function load(
  { options, reporter }: TestSettings,
  runtime: Runtime,
  previous?: LoadedParts,
): Promise<LoadedProjectTests | { readonly files: readonly string[]; readonly project: undefined }> {
  const { cwd } = runtime;
  const loaded = await loadProject({ ...loadOptionsOf(options, runtime), previous });
  const { project, problems, files, parts } = loaded;
  const found = project === undefined ? undefined : loadTests(project, cwd);
  const all = [...problems, ...(found?.problems ?? []), ...setupProblems(found?.files ?? [])];
  reporter.problems(all);
  if (project === undefined || found === undefined || hasErrors(all)) return { files, project: undefined };
  return { project, tests: found.files, files, parts };
}

async function runOnce(settings: TestSettings, runtime: Runtime): Promise<ExitCode> {
  const loaded = await load(settings, runtime);
  if (loaded.project === undefined) return exitCodes.problem;
  const stop = stopOnSignals(runtime);
  const code = await runLoaded(loaded, { settings, signal: stop, isAffected: () => true }, runtime);
  return stop.aborted ? exitCodes.problem : code;
}

/** The first signal ends the run after the current test, the second at once. */
function stopOnSignals(runtime: Runtime): AbortSignal {
  const stop = new AbortController();
  runtime.onStop(() => {
    if (stop.signal.aborted) runtime.kill();
    stop.abort();
  });
  return stop.signal;
}

interface RunScope {
  readonly settings: TestSettings;
  readonly signal: AbortSignal;
  /** Whether a change affects the tests of a file. */
  readonly isAffected: (file: TestFile) => boolean;
}

async function runLoaded(
  { project, tests }: Pick<LoadedProjectTests, "project" | "tests">,
  { settings, signal, isAffected }: RunScope,
  runtime: Runtime,
): Promise<ExitCode> {
  const { pattern, reporter, minimum, update } = settings;
  const { stderr, cwd, env, temporary, self, now } = runtime;
  const isSelected = (file: TestFile, each: EndpointTest): boolean =>
    isAffected(file) && `${file.file} ${targetOf(file)} ${each.name}`.includes(pattern);
  const selected = tests.filter((file) => file.tests.some((each) => isSelected(file, each)));
  if (selected.length === 0) {
    const hint = pattern === "" ? "write them beside an endpoint, in <name>.test.yaml" : `none contains '${pattern}'`;
    stderr.write(`no tests found; ${hint}\n`);
    return exitCodes.problem;
  }
  const isCi = (env["CI"] ?? "") !== "" && env["CI"] !== "false";
  const options: TestRunOptions = {
    cwd,
    env,
    temporary,
    self,
    now,
    signal,
    isSelected,
    snapshots: update ? "update" : isCi ? "check" : "add",
    onProblems: reporter.problems,
    onFile: reporter.file,
  };
  const run = await runTests(project, selected, options);
  if (run.kind === "failed") {
    if (run.unreachable !== undefined) stderr.write(`${escapeUnprintable(oneLine(run.unreachable))}\n`);
    return run.unreachable === undefined ? exitCodes.problem : exitCodes.unavailable;
  }
  // Tests that were left out cannot cover anything.
  const isWhole = selected.length === tests.length && pattern === "";
  const endpoints = isWhole ? project.endpoints : selected.map(({ endpoint }) => endpoint);
  const hints: readonly Hint[] = lintTools(endpoints);
  const items = run.coverage.items(new Set(endpoints.map(({ file }) => file)));
  const report: TestReport = { files: run.files, items, hints, minimum };
  return reporter.end(report) ? exitCodes.done : exitCodes.problem;
}

function targetOf({ surface, endpoint: { rest, mcp } }: TestFile): string {
  return surface === "mcp" || rest === undefined ? (mcp?.name ?? "") : `${rest.method} ${rest.urlPath}`;
}

/** Runs all tests, then those that each change affects, until a signal stops it. */
async function watch(settings: TestSettings, runtime: Runtime): Promise<ExitCode> {
  const { stdout, stderr } = runtime;
  const stop = stopOnSignals(runtime);
  let hasChanged = false;
  let wake = (): void => {};
  stop.addEventListener("abort", () => wake());
  let ran = await load(settings, runtime);
  if (ran.project === undefined) return exitCodes.problem;
  const { templatePath: folder } = ran.project.main;
  const watcher = await watchFiles({ folder, files: ran.files }, (event) => {
    if (event.kind === "dependency-down") stderr.write(`${escapeUnprintable(event.message)}\n`);
    if (event.kind !== "files-changed") return;
    hasChanged = true;
    wake();
  });
  await runLoaded(ran, { settings, signal: stop, isAffected: () => true }, runtime);
  while (!stop.aborted) {
    if (!hasChanged) {
      stdout.write("waiting for changes\n");
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      continue;
    }
    hasChanged = false;
    const next = await load(settings, runtime, ran.parts);
    watcher.follow({ folder: next.project?.main.templatePath, files: next.files });
    if (next.project === undefined) continue;
    const isAffected = affectedBy(next, ran);
    ran = next;
    if (ran.tests.some(isAffected)) await runLoaded(ran, { settings, signal: stop, isAffected }, runtime);
  }
  await watcher.close();
  return exitCodes.done;
}

/** A test is affected if its file, its endpoint or the configuration file has changed. A load keeps what has not. */
function affectedBy(now: LoadedProjectTests, before: LoadedProjectTests): (file: TestFile) => boolean {
  const endpoints = new Set(before.project.endpoints);
  const texts = new Map(before.tests.map(({ path, text }) => [path, text]));
  const isSameMain = now.project.main === before.project.main;
  return ({ path, text, endpoint }) => !isSameMain || !endpoints.has(endpoint) || texts.get(path) !== text;
}
