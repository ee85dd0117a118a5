import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { errorCode } from "../error-message.ts";

export type FileText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: ReadFailure };

/** `absent`: there is no such file. Anything else names its reason. */
export type ReadFailure = { readonly kind: "absent" } | { readonly kind: "unreadable"; readonly reason: string };

export type Listing =
  | { readonly ok: true; readonly files: readonly string[] }
  | { readonly ok: false; readonly folder: string; readonly reason: string };

/** The file system as one load sees it. */
export interface Files {
  /** As problems name a file: relative to the working directory when it is inside. */
  display(file: string): string;
  read(file: string): FileText;
  /** Every file below a folder that `wanted` accepts, in sorted order; dot folders and node_modules are left out. */
  list(folder: string, wanted: (name: string) => boolean): Listing;
  /** Whether a file is, symbolic links followed, inside one of the folders. */
  containment(file: string, folders: readonly string[]): "inside" | "outside" | "absent";
  /** Every file that was requested, whether it exists or not. */
  requested(): readonly string[];
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "it is a folder",
  ENOTDIR: "it is not a folder",
  ELOOP: "its symbolic links lead in a circle",
  EMFILE: "too many files are open",
};

/**
 * Reads are synchronous: nothing is served from the state that is being loaded, and there is no other work to do meanwhile.
 */
export function openFiles(cwd: string): Files {
  const here = resolve(cwd);
  const realFolders = new Map<string, string | undefined>();
  const asked = new Set<string>();

  function realFolder(folder: string): string | undefined {
    if (!realFolders.has(folder)) realFolders.set(folder, realPath(folder));
    return realFolders.get(folder);
  }

  return {
    display: (file) => displayPath(file, here),
    read(file) {
      asked.add(file);
      return readText(file);
    },
    requested: () => [...asked],
    list: (folder, wanted) => listFiles(folder, wanted),
    containment(file, folders) {
      if (!folders.some((folder) => contains(folder, file))) return "outside";
      const entry = entryOf(file);
      if (entry === undefined) return "absent";
      // Most files are no links: then only their folder needs to be followed, once for all of its files.
      const folder = entry.isSymbolicLink() ? undefined : realFolder(dirname(file));
      const real = folder === undefined ? realPath(file) : join(folder, basename(file));
      if (real === undefined) return "absent";
      return folders.some((folder) => contains(realFolder(folder) ?? folder, real)) ? "inside" : "outside";
    },
  };
}

/** True when a path is the folder or below it, both absolute and without dots. */
function contains(folder: string, path: string): boolean {
  return (
    path.startsWith(folder) && (path.length === folder.length || folder.endsWith(sep) || path[folder.length] === sep)
  );
}

function displayPath(file: string, cwd: string): string {
  if (file.length <= cwd.length || !contains(cwd, file)) return file;
  const way = file.slice(cwd.endsWith(sep) ? cwd.length : cwd.length + 1);
  return sep === "/" ? way : way.split(sep).join("/");
}

function entryOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // Something on the way is no folder, or may not be looked into.
    return undefined;
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** Tells a file from another that took its place, and from itself before it was changed. Undefined when there is none. */
export async function fileIdentity(path: string): Promise<string | undefined> {
  const entry = await stat(path, { bigint: true }).catch(() => undefined);
  return entry?.isFile() ? `${entry.dev}:${entry.ino}:${entry.size}:${entry.mtimeNs}` : undefined;
}

/** The text of a file; undefined when it cannot be read. */
export function textOf(file: string): string | undefined {
  const found = readText(file);
  return found.ok ? found.text : undefined;
}

function readText(file: string): FileText {
  try {
    const bytes = readFileSync(file);
    return { ok: true, text: utf8.decode(bytes) };
  } catch (error) {
    if (error instanceof TypeError) return unreadable("it is not UTF-8 text");
    const code = codeOf(error);
    if (code === "ENOENT") return { ok: false, why: { kind: "absent" } };
    return unreadable(REASONS[code] ?? code);
  }
}

function listFiles(folder: string, wanted: (name: string) => boolean): Listing {
  const files: string[] = [];
  const pending = [folder];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    try {
      for (const entry of readdirSync(next, { withFileTypes: true })) {
        const path = join(next, entry.name);
        if (wanted(entry.name)) files.push(path);
        else if (entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules")
          pending.push(path);
      }
    } catch (error) {
      const code = codeOf(error);
      return { ok: false, folder: next, reason: code === "ENOENT" ? "it does not exist" : (REASONS[code] ?? code) };
    }
  }
  return { ok: true, files: files.sort() };
}

function unreadable(reason: string): FileText {
  return { ok: false, why: { kind: "unreadable", reason } };
}

function codeOf(error: unknown): string {
  return errorCode(error) ?? String(error);
}
