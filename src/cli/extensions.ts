import { attachSql } from "../cache/ducklake.ts";
import { initOf } from "../config/connection-init.ts";
import { loadProject } from "../config/load-project.ts";
import { oneLine } from "../config/problem.ts";
import type { ConnectionConfig, EndpointConfig, MainConfig, Project } from "../config/project.ts";
import { openProjectSpool } from "../config/remote-copies.ts";
import { EngineOpenError } from "../engines/engine.ts";
import type { ExtensionPlace, NeededExtension } from "../engines/extensions.ts";
import { engine } from "../engines/index.ts";
import { escapeUnprintable, escapeUnprintableInLines } from "../printable.ts";
import { quoteLiteral } from "../sql/quote.ts";
import { type Command, type ExitCode, exitCodes, type Runtime } from "./command.ts";
import { loadOptionsOf, type ProjectOptions, projectOptionsHelp, readOptions } from "./options.ts";
import { printProblems } from "./print-problems.ts";
import { printTable } from "./print-table.ts";

export const extensions: Command = {
  name: "extensions",
  summary: "list the DuckDB extensions that a project needs",
  help: `Usage: eider extensions [options]

Lists the DuckDB extensions that the connections, templates and caches of a project need, as far as their SQL shows, and
where each comes from: built in, duckdb.extension_directory, DuckDB's default folder or a download. To find out whether
DuckDB could download one, Eider downloads it into a temporary folder. Opens no connection. Exits with code 1 if an
extension is missing.

Options:
${projectOptionsHelp}
      --json            print one JSON document

Example:
  eider extensions --config project/eider.yaml`,
  async run(args, runtime) {
    const { flags, ...options } = readOptions(args, ["json"]);
    return await listExtensions(options, flags.has("json"), runtime);
  },
};

async function listExtensions(options: ProjectOptions, json: boolean, runtime: Runtime): Promise<ExitCode> {
  const loaded = await loadProject({ ...loadOptionsOf(options, runtime), isOffline: true });
  printProblems(loaded.problems, runtime.stderr);
  if (loaded.project === undefined) return exitCodes.problem;
  const { settings } = loaded.project.main.duckdb;
  const spool = openProjectSpool(settings, runtime);
  try {
    const needs = needsOf(loaded.project);
    const found = await engine.findExtensions(
      needs.map(({ extension }) => extension),
      { settings, linkFiles: spool.linkFiles },
    );
    const entries = needs.map((need, index) => entryOf(need, found[index] ?? { kind: "missing" }));
    print(entries, json, runtime);
    return entries.some(({ source }) => source === "missing") ? exitCodes.problem : exitCodes.done;
  } catch (error) {
    if (!(error instanceof EngineOpenError)) throw error;
    runtime.stderr.write(`${escapeUnprintable(oneLine(error.message))}\n`);
    return exitCodes.unavailable;
  } finally {
    await spool.close();
  }
}

interface Need {
  readonly extension: NeededExtension;
  /** What needs it: connections, templates, keys. */
  readonly users: readonly string[];
}

/** The extensions of a project, sorted by name. */
function needsOf({ main, endpoints }: Project): readonly Need[] {
  const uses = [
    ...[...main.connections.values()].map(useOfConnection),
    ...endpoints.flatMap(usesOfEndpoint),
    ...usesOfMain(main),
  ];
  const needs = new Map<string, { extension: NeededExtension; users: Set<string> }>();
  for (const { user, sql } of uses) {
    for (const extension of engine.neededExtensions(sql)) {
      const known = needs.get(extension.name);
      const users = known?.users ?? new Set();
      const repository = known?.extension.repository ?? extension.repository;
      needs.set(extension.name, { extension: { ...extension, repository }, users: users.add(user) });
    }
  }
  return [...needs]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { extension, users }]) => ({ extension, users: [...users] }));
}

/** SQL, and what it belongs to. */
interface Use {
  readonly user: string;
  readonly sql: string;
}

function useOfConnection(connection: ConnectionConfig): Use {
  const read = [...connection.properties.values()].map(readSql);
  return { user: `connection ${connection.name}`, sql: [initOf(connection) ?? "", ...read].join(";\n") };
}

function usesOfEndpoint({ template, cache }: EndpointConfig): readonly Use[] {
  const refresh = cache?.kind === "table" ? cache.refresh?.template : undefined;
  return [template, refresh].flatMap((source) => (source === undefined ? [] : { user: source.file, sql: source.text }));
}

function usesOfMain({ cache, templateAddress }: MainConfig): readonly Use[] {
  const uses: Use[] = templateAddress === undefined ? [] : [{ user: "template.path", sql: readSql(templateAddress) }];
  if (cache?.backend.kind !== "ducklake") return uses;
  return [...uses, { user: "cache", sql: attachSql({ catalog: cache.catalog, ...cache.backend }) }];
}

function readSql(path: string): string {
  return `FROM ${quoteLiteral(path)}`;
}

interface Entry {
  readonly extension: string;
  readonly source: ExtensionPlace["kind"];
  readonly path: string | null;
  readonly neededBy: readonly string[];
}

function entryOf({ extension, users }: Need, place: ExtensionPlace): Entry {
  return {
    extension: extension.name,
    source: place.kind,
    path: "path" in place ? place.path : null,
    neededBy: users,
  };
}

const SOURCES: Readonly<Record<Entry["source"], string>> = {
  "built-in": "built in",
  "extension-directory": "extension_directory",
  "default-folder": "DuckDB's default folder",
  download: "would be downloaded",
  missing: "missing",
};

function print(entries: readonly Entry[], json: boolean, { stdout }: Runtime): void {
  if (json) {
    stdout.write(`${escapeUnprintableInLines(JSON.stringify(entries, null, 2))}\n`);
    return;
  }
  const lines = entries.map(({ extension, source, path, neededBy }) =>
    [extension, SOURCES[source], path ?? "", neededBy.join(", ")].map(escapeUnprintable),
  );
  printTable(["extension", "source", "file", "needed by"], lines, stdout);
}
