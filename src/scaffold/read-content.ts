import { join } from "node:path";
import { loadProject } from "../config/load-project.ts";
import { onlyTexts } from "../config/text-files.ts";
import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { type OpenOptions, openService } from "../service/service.ts";
import {
  connectionName,
  connectionOptions,
  isDatabase,
  openDataFile,
  relativePath,
  ScaffoldError,
  TAKEN_CONNECTIONS,
} from "./data-file.ts";
import { inspectFile, type NamedFile } from "./inspect-file.ts";
import { takeName } from "./names.ts";
import { MAIN_FILE, type ProjectContent } from "./project-texts.ts";

export interface ReadOptions extends Pick<OpenOptions, "temporary" | "self" | "env"> {
  readonly cwd: string;
  /** The folder of the project. Paths of data files are relative to it. */
  readonly folder: string;
  /** Connections that the project has already. */
  readonly connections?: Iterable<string>;
}

/** Finds out what is in data files. Rejects with a ScaffoldError. */
export async function readContent(names: readonly string[], options: ReadOptions): Promise<ProjectContent> {
  const { cwd, folder, connections = [] } = options;
  const taken = new Set([...TAKEN_CONNECTIONS, ...connections]);
  const files = await Promise.all(names.map((name) => openDataFile(name, cwd)));
  const named = files.map((file): NamedFile => ({ connection: takeName(connectionName(file), taken), file }));
  const contents = await inEmptyProject(options, (engine) =>
    Promise.all(
      named.map(async (each) => {
        const { file } = each;
        const { options, tables } = await inspectFile(each, engine);
        const own = connectionOptions(file, relativePath(file, folder));
        const yaml = { ...own, ...(isDatabase(file) && { "read-only": true }), ...options };
        return { connection: each.connection, yaml, tables };
      }),
    ),
  );
  return {
    connections: new Map(contents.map(({ connection, yaml }) => [connection, yaml])),
    tables: contents.flatMap(({ tables }) => tables),
    data: new Map(),
  };
}

/** Runs work with the engine of a project without connections and endpoints. */
async function inEmptyProject<T>(
  { cwd, temporary, self, env }: ReadOptions,
  work: (engine: EmbeddedEngine) => Promise<T>,
): Promise<T> {
  const file = join(cwd, MAIN_FILE);
  const overlay: Parameters<typeof loadProject>[0]["overlay"] = (disk) => onlyTexts(new Map([[file, "{}"]]), disk);
  const { project } = await loadProject({ file, cwd, env: {}, overrides: {}, overlay });
  const opening: OpenOptions = { report: () => {}, connect: false, temporary, self, env, purpose: "check" };
  const { service, unreachable } = project === undefined ? {} : await openService(project, opening);
  if (service === undefined) throw new ScaffoldError(unreachable ?? "the database could not be opened");
  try {
    return await work(service.engine);
  } finally {
    await service.close();
  }
}
