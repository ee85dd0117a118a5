import { relative, resolve } from "node:path";
import { openFiles, readTextFile } from "../config/files.ts";
import { loadProject } from "../config/load-project.ts";
import { hasErrors, type Problem } from "../config/problem.ts";
import type { MainConfig } from "../config/project.ts";
import { type Texts, withTexts } from "../config/text-files.ts";
import { toYaml } from "../config/to-yaml.ts";
import { ScaffoldError } from "../scaffold/data-file.ts";
import { insertConnection } from "../scaffold/insert-connection.ts";
import { slugOf, takeName } from "../scaffold/names.ts";
import { sqlEndpoint, tableEndpoint } from "../scaffold/new-endpoint.ts";
import { endpointFiles } from "../scaffold/project-texts.ts";
import { readContent } from "../scaffold/read-content.ts";
import { listEndpoint, RESERVED } from "../scaffold/table-endpoints.ts";
import { type Changes, existingFiles, writeFiles } from "../scaffold/write-files.ts";
import type { Service } from "../service/service.ts";
import { openForCheck } from "./check.ts";
import { type Command, type ExitCode, exitCodes, type Runtime, UsageError } from "./command.ts";
import { loadOptionsOf, type ProjectOptions, projectOptionsHelp, readOptionsAndNames } from "./options.ts";
import { printProblems } from "./print-problems.ts";
import { printScaffoldError } from "./print-scaffold-error.ts";
import { withProject } from "./with-project.ts";

const SOURCES = ["sql", "table", "file"] as const;

/** What the endpoint is for. */
interface Source {
  readonly kind: (typeof SOURCES)[number];
  readonly value: string;
}

interface Wanted {
  readonly name: string;
  readonly source: Source;
  readonly connection: string | undefined;
}

export const add: Command = {
  name: "add",
  summary: "add an endpoint for SQL, a table or a data file to the project",
  help: `Usage: eider add NAME (--sql FILE | --table TABLE | --file FILE) [options]

Writes the YAML and the SQL of one endpoint into the project. Tags and placeholders in the SQL ({{params.x}}, $x, :x)
become parameters, with validators for the types that DuckDB expects. A table or data file becomes a list with filters.
Replaces no file, and writes nothing that \`eider check\` would reject.

Options:
${projectOptionsHelp}
      --sql FILE        a file with SQL
      --table TABLE     a table of a connection: shop.customers
      --file FILE       a data file; its connection is added to the configuration file
      --connection NAME the connection, if the SQL or the table does not name it

Example:
  eider add top-customers --sql top.sql --config project/eider.yaml`,
  async run(args, runtime) {
    const { wanted, options } = readArguments(args);
    try {
      return await addEndpoint(wanted, options, runtime);
    } catch (error) {
      return printScaffoldError(error, runtime);
    }
  },
};

function readArguments(args: readonly string[]): { readonly wanted: Wanted; readonly options: ProjectOptions } {
  const { flags: _, values, positionals, ...options } = readOptionsAndNames(args, [], [...SOURCES, "connection"]);
  const [name, ...others] = positionals;
  if (name === undefined || others.length > 0) throw new UsageError("add takes one name, the one of the endpoint");
  const sources = SOURCES.flatMap((kind): readonly Source[] => {
    const value = values.get(kind);
    return value === undefined ? [] : [{ kind, value }];
  });
  const [source, another] = sources;
  if (source === undefined || another !== undefined) throw new UsageError("add takes one of --sql, --table and --file");
  return { wanted: { name, source, connection: values.get("connection") }, options };
}

/** An endpoint that is checked and can be written. */
interface Addition extends Changes {
  readonly path: string;
}

async function addEndpoint(wanted: Wanted, options: ProjectOptions, runtime: Runtime): Promise<ExitCode> {
  const { cwd, stdout, stderr } = runtime;
  let addition: Addition | undefined;
  const opened = await withProject(options, runtime, {
    purpose: "check",
    copiesLocked: true,
    async run(service) {
      addition = await makeAddition(wanted, service, runtime);
      return undefined;
    },
  });
  if (addition === undefined) return opened;
  const { created, replaced, path } = addition;
  const shown = (file: string): string => relative(cwd, file);
  const existing = await existingFiles(created.keys());
  if (existing.length > 0) {
    throw new ScaffoldError(`these files already exist, so nothing was written: ${existing.map(shown).join(", ")}`);
  }
  const texts = new Map([...created, ...(replaced === undefined ? [] : [[replaced.file, replaced.text] as const])]);
  const problems = await problemsWith(texts, options, runtime);
  printProblems(problems, stderr);
  if (hasErrors(problems)) {
    stderr.write("eider: the endpoint would have these problems, so nothing was written\n");
    return exitCodes.problem;
  }
  await writeFiles({ created, replaced });
  for (const file of created.keys()) stdout.write(`created ${shown(file)}\n`);
  if (replaced !== undefined) stdout.write(`changed ${shown(replaced.file)}\n`);
  stdout.write(`Endpoint: ${path}\n`);
  return exitCodes.done;
}

async function makeAddition(
  { name: title, source, connection }: Wanted,
  { engine, project }: Service,
  runtime: Runtime,
): Promise<Addition> {
  const { main } = project;
  if (main.templateAddress !== undefined) throw new ScaffoldError("template.path is remote; Eider cannot write there");
  const name = takeName(slugOf(title, "-"), new Set(RESERVED), "-");
  const context = { engine, project, connection };
  const filesOf = (endpoint: Parameters<typeof endpointFiles>[0]): Texts =>
    new Map(endpointFiles(endpoint, main.templatePath).map(([file, text]) => [resolve(file), text]));
  switch (source.kind) {
    case "sql": {
      const endpoint = await sqlEndpoint(name, { file: source.value, cwd: runtime.cwd }, context);
      const created = new Map(filesOf(endpoint));
      // The SQL file may be in its place already.
      const own = resolve(runtime.cwd, source.value);
      if (created.has(own) && endpoint.sql === endpoint.source) created.delete(own);
      return { created, path: endpoint.path };
    }
    case "table": {
      const endpoint = await tableEndpoint(name, source.value, context);
      return { created: filesOf(endpoint), path: endpoint.path };
    }
    case "file": {
      const { table, replaced } = await connectFile(source.value, main, runtime);
      const endpoint = listEndpoint({ ...table, title }, name);
      return { created: filesOf(endpoint), replaced, path: endpoint.path };
    }
  }
}

/** The table in a data file, and the configuration file with a connection to it. */
async function connectFile(file: string, main: MainConfig, runtime: Runtime) {
  const { tables, connections } = await readContent([file], {
    ...runtime,
    folder: main.folder,
    connections: main.connections.keys(),
  });
  const [table, ...others] = tables;
  const [[name, yaml] = []] = connections;
  if (table === undefined || name === undefined || others.length > 0) {
    const names = tables.map(({ path }) => path.join(".")).join(", ");
    throw new ScaffoldError(`${file} has several tables (${names}); add a connection, then name one with --table`);
  }
  const text = insertConnection(readTextFile(main.file) ?? "", name, yaml);
  if (text === undefined) {
    const entry = toYaml({ connections: { [name]: yaml } });
    throw new ScaffoldError(`add this to ${main.file}, then use --table ${name}; nothing was written\n${entry}`);
  }
  return { table, replaced: { file: main.file, text } };
}

/** The problems of the project with these files: all errors, and warnings about the files. */
async function problemsWith(texts: Texts, options: ProjectOptions, runtime: Runtime): Promise<readonly Problem[]> {
  const loading = loadOptionsOf(options, runtime);
  const { validPart, problems } = await loadProject({ ...loading, overlay: (disk) => withTexts(texts, disk) });
  const opened = validPart && (await openForCheck(validPart, true, runtime));
  const { display } = openFiles(runtime.cwd);
  const files = new Set([...texts.keys()].map(display));
  return [...problems, ...(opened?.problems ?? [])].filter(
    ({ severity, location }) => severity === "error" || files.has(location.file),
  );
}
