import { join, relative, resolve } from "node:path";
import { ScaffoldError } from "../scaffold/data-file.ts";
import { newProject, projectTexts, SAMPLE_CONTENT } from "../scaffold/project-texts.ts";
import { readContent } from "../scaffold/read-content.ts";
import { existingFiles, writeFiles } from "../scaffold/write-files.ts";
import { type Command, exitCodes, type Runtime, UsageError } from "./command.ts";
import { printScaffoldError } from "./print-scaffold-error.ts";
import { shellWord } from "./shell-word.ts";

export const init: Command = {
  name: "init",
  summary: "create a project, with sample data or for your own data files",
  help: `Usage: eider init [folder] [--from FILE...]

Creates a project in the folder (default: the working directory) and prints what to do next. It asks nothing and replaces
no file: if one that it would write exists, it writes nothing.

Options:
      --from FILE...    write endpoints for these files instead of sample data: CSV, TSV, JSON, NDJSON, Parquet, Excel,
                        and every table of a DuckDB or SQLite database

Example:
  eider init shop --from trips.parquet zones.csv`,
  async run(args, runtime) {
    const { folder, from } = readArguments(args);
    try {
      return await createProject(resolve(runtime.cwd, folder), from, runtime);
    } catch (error) {
      return printScaffoldError(error, runtime);
    }
  },
};

interface Arguments {
  readonly folder: string;
  readonly from: readonly string[];
}

/** All words after `--from` are files. */
function readArguments(args: readonly string[]): Arguments {
  const folders: string[] = [];
  const from: string[] = [];
  let list = folders;
  for (const arg of args) {
    if (arg === "--from") list = from;
    else if (arg.startsWith("--from=")) from.push(arg.slice("--from=".length));
    else if (arg.startsWith("-")) throw new UsageError(`init: unknown option '${arg}'`);
    else list.push(arg);
  }
  if (list === from && from.length === 0) throw new UsageError("--from: name one or more files");
  const [folder = ".", ...others] = folders;
  if (others.length > 0)
    throw new UsageError(`init takes one folder; to use data files, write --from ${others.join(" ")}`);
  return { folder, from };
}

async function createProject(folder: string, from: readonly string[], runtime: Runtime): Promise<0> {
  const { cwd, stdout } = runtime;
  const content = from.length === 0 ? SAMPLE_CONTENT : await readContent(from, { ...runtime, folder });
  const created = new Map([...newProject(content, folder)].map(([path, text]) => [join(folder, path), text]));
  const shown = (file: string): string => relative(cwd, file);
  const existing = await existingFiles(created.keys());
  if (existing.length > 0) {
    throw new ScaffoldError(`these files already exist, so nothing was written: ${existing.map(shown).join(", ")}`);
  }
  await writeFiles({ created });
  for (const file of created.keys()) stdout.write(`created ${shown(file)}\n`);
  const [first] = projectTexts(content, folder).endpoints;
  const enter = shown(folder) === "" ? "eider check" : `cd ${shellWord(shown(folder))}`;
  stdout.write(`\nNext:\n  ${enter}\n  eider dev\n  curl 'http://127.0.0.1:8080${first?.path ?? "/docs"}?limit=3'\n`);
  return exitCodes.done;
}
