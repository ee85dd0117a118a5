import { dirname, extname, sep } from "node:path";
import { errorMessage } from "../error-message.ts";
import type { Report } from "../events.ts";

/** Watches the files of a project. */
export interface FileWatch {
  /** Watches the files of a reloaded project. Without a folder, it keeps the same one. */
  follow(watched: Omit<Watched, "folder"> & { readonly folder: string | undefined }): void;
  close(): Promise<void>;
}

export interface Watched {
  /** Watched with all its subfolders. */
  readonly folder: string;
  /** Every file that was read or looked for. */
  readonly files: readonly string[];
}

/** Files saved within this time are one change. */
const DEBOUNCE_MS = 40;
const DEPENDENCY = "watching files";
const EXTENSIONS: ReadonlySet<string> = new Set([".yaml", ".yml", ".sql"]);

/** Reports when a file of the project changes; data files do not count. Also reports what cannot be watched. */
export async function watchFiles(watched: Watched, report: Report): Promise<FileWatch> {
  const { watch } = await import("chokidar");
  const roots = new Set([watched.folder, ...foldersOutside(watched)]);
  let known = new Set(watched.files);
  let timer: NodeJS.Timeout | undefined;
  let lastError = "";
  const options = {
    ignoreInitial: true,
    ignored: (path: string, stats?: { isFile(): boolean }): boolean =>
      !roots.has(path) && !known.has(path) && (isIgnored(path) || (stats?.isFile() === true && !isProjectFile(path))),
  };
  const tree = watch(watched.folder, options);
  const outsideWatcher = watch([...foldersOutside(watched)], { ...options, depth: 0 });
  for (const watcher of [tree, outsideWatcher]) {
    watcher.on("error", (error) => {
      const reason = errorMessage(error);
      if (reason === lastError) return;
      lastError = reason;
      report({ kind: "dependency-down", dependency: DEPENDENCY, message: `${reason}; reload with SIGHUP` });
    });
    watcher.on("all", (_event, path) => {
      if (lastError !== "") report({ kind: "dependency-up", dependency: DEPENDENCY });
      lastError = "";
      if (!isProjectFile(path)) return;
      clearTimeout(timer);
      timer = setTimeout(() => report({ kind: "files-changed" }), DEBOUNCE_MS);
    });
  }
  const ready = [tree, outsideWatcher].map((watcher) => new Promise<void>((resolve) => watcher.once("ready", resolve)));
  // A watcher without folders never becomes ready.
  await Promise.all(roots.size === 1 ? ready.slice(0, 1) : ready);

  function isProjectFile(path: string): boolean {
    return EXTENSIONS.has(extname(path).toLowerCase()) || known.has(path);
  }

  return {
    follow({ folder = watched.folder, files }) {
      const outside = foldersOutside({ folder, files });
      const isNew = [folder, ...outside].some((path) => !roots.has(path)) || files.some((file) => !known.has(file));
      known = new Set(files);
      // Adding a folder scans it, which is slow. It is only needed for folders and files that were not watched before.
      if (!isNew && lastError === "") return;
      for (const added of [folder, ...outside]) roots.add(added);
      tree.add(folder);
      outsideWatcher.add([...outside]);
    },
    async close() {
      clearTimeout(timer);
      await Promise.all([tree.close(), outsideWatcher.close()]);
    },
  };
}

/** Dot folders and node_modules contain many files, but no endpoints. */
function isIgnored(path: string): boolean {
  const name = path.slice(path.lastIndexOf(sep) + 1);
  return name.startsWith(".") || name === "node_modules";
}

/** Folders are watched instead of files, because editors replace files. */
function foldersOutside({ folder, files }: Watched): readonly string[] {
  return [...new Set(files.filter((file) => !file.startsWith(folder + sep)).map(dirname))];
}
