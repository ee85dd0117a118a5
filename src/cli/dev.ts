import { join } from "node:path";
import { onlyTexts } from "../config/text-files.ts";
import { MAIN_FILE, projectTexts } from "../scaffold/project-texts.ts";
import { readContent } from "../scaffold/read-content.ts";
import { type Command, type ExitCode, type Runtime, UsageError } from "./command.ts";
import { type ProjectOptions, projectOptionsHelp, readOptionsAndNames } from "./options.ts";
import { printScaffoldError } from "./print-scaffold-error.ts";
import { runServer } from "./run-server.ts";
import { shellWord } from "./shell-word.ts";

export const dev: Command = {
  name: "dev",
  summary: "serve the project while you edit it, or data files without a project",
  help: `Usage: eider dev [options] [FILE...]

Serves the project as \`serve --watch\` does: it reloads on every change. On errors, it prints them and serves the previous
version. Each request gets a line: method, path, status, rows, time and cache. The page at /docs refreshes itself.

With files, it serves these instead of a project, and writes nothing: CSV, TSV, JSON, NDJSON, Parquet, Excel, and every
table of a DuckDB or SQLite database. Each has a list with filters, sort order and pages, a row by key and a summary.

Options:
${projectOptionsHelp}
      --strict          treat security warnings as errors

Example:
  eider dev --config project/eider.yaml
  eider dev trips.parquet zones.csv shop.db`,
  async run(args, runtime) {
    const { flags, positionals, ...options } = readOptionsAndNames(args, ["strict"]);
    const strict = flags.has("strict");
    if (positionals.length === 0) return await runServer(options, { strict, watch: true, isDev: true }, runtime);
    if (options.config !== undefined) throw new UsageError("dev takes --config or data files, not both");
    try {
      return await serveFiles(positionals, { options, strict }, runtime);
    } catch (error) {
      return printScaffoldError(error, runtime);
    }
  },
};

interface FileServing {
  readonly options: ProjectOptions;
  readonly strict: boolean;
}

/** Serves what `eider init --from` would write, from memory. */
async function serveFiles(
  names: readonly string[],
  { options, strict }: FileServing,
  runtime: Runtime,
): Promise<ExitCode> {
  const { cwd, stdout } = runtime;
  const { served, endpoints } = projectTexts(await readContent(names, { ...runtime, folder: cwd }), cwd);
  const texts = new Map([...served].map(([path, text]) => [join(cwd, path), text]));
  for (const { path } of endpoints) stdout.write(`GET ${path}\n`);
  stdout.write(`To keep these endpoints: eider init --from ${names.map(shellWord).join(" ")}\n`);
  return await runServer(
    { ...options, config: join(cwd, MAIN_FILE) },
    { strict, watch: false, isDev: true, overlay: (disk) => onlyTexts(texts, disk) },
    runtime,
  );
}
