import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import type { RemoteListing, RemoteText } from "../engines/remote-files.ts";
import { errorCode } from "../error-message.ts";
import { redactUrl } from "../secrets.ts";
import { isRemote } from "./remote-address.ts";

export type FileText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: ReadFailure };

/** `absent`: the file does not exist. `unread`: it is remote, and there is no copy of it. */
export type ReadFailure =
  | { readonly kind: "absent" | "unread" }
  | { readonly kind: "unreadable"; readonly reason: string };

export type Listing =
  | { readonly ok: true; readonly files: readonly string[] }
  | { readonly ok: false; readonly folder: string; readonly reason: string };

/** Copies of remote files. Undefined for what has not been read. */
export interface RemoteCopies {
  text(address: string): RemoteText | undefined;
  listing(folder: string): RemoteListing | undefined;
}

const NO_COPIES: RemoteCopies = { text: () => undefined, listing: () => undefined };

/** Access to files during one load. Files may be URLs. */
export interface Files {
  /** The path as shown in messages: relative to the working directory if it is inside; a URL without credentials. */
  display(file: string): string;
  read(file: string): FileText;
  /** All files below a folder that `wanted` accepts, sorted. Skips dot folders and node_modules. Undefined for an unread URL. */
  list(folder: string, wanted: (name: string) => boolean): Listing | undefined;
  /** Whether a file is inside one of the folders, with symbolic links resolved. */
  containment(file: string, folders: readonly string[]): "inside" | "outside" | "absent";
  /** Every local file that was requested, whether it exists or not. */
  requestedFiles(): readonly string[];
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
 * Reads are synchronous, which costs a small part of the CPU of asynchronous reads. A load runs in slices, so that requests
 * need not wait. Each file is read once. Remote files are read from copies.
 */
export function openFiles(cwd: string, remote: RemoteCopies = NO_COPIES): Files {
  const here = resolve(cwd);
  const realFolders = new Map<string, string | undefined>();
  const texts = new Map<string, FileText>();

  function realFolder(folder: string): string | undefined {
    if (!realFolders.has(folder)) realFolders.set(folder, realPath(folder));
    return realFolders.get(folder);
  }

  return {
    display: (file) => (isRemote(file) ? redactUrl(file) : displayPath(file, here)),
    read(file) {
      if (isRemote(file)) return readCopy(remote, file);
      const text = texts.get(file) ?? readText(file);
      texts.set(file, text);
      return text;
    },
    requestedFiles: () => [...texts.keys()],
    list: (folder, wanted) => (isRemote(folder) ? listCopies(remote, folder, wanted) : listFiles(folder, wanted)),
    containment(file, folders) {
      if (!folders.some((folder) => contains(folder, file))) return "outside";
      const entry = entryOf(file);
      if (entry === undefined) return "absent";
      // Most files are not links. Then only their folder must be resolved, once for all its files.
      const folder = entry.isSymbolicLink() ? undefined : realFolder(dirname(file));
      const real = folder === undefined ? realPath(file) : join(folder, basename(file));
      if (real === undefined) return "absent";
      return folders.some((folder) => contains(realFolder(folder) ?? folder, real)) ? "inside" : "outside";
    },
  };
}

/** Whether a path is the folder or below it. Both must be absolute and without dots. */
function contains(folder: string, path: string): boolean {
  return (
    path.startsWith(folder) && (path.length === folder.length || folder.endsWith(sep) || path[folder.length] === sep)
  );
}

function displayPath(file: string, cwd: string): string {
  if (file.length <= cwd.length || !contains(cwd, file)) return file;
  const relative = file.slice(cwd.endsWith(sep) ? cwd.length : cwd.length + 1);
  return sep === "/" ? relative : relative.split(sep).join("/");
}

function entryOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // A part of the path is not a folder, or is not accessible.
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

/** A string that changes when the file is replaced or modified. Undefined if there is no such file. */
export async function fileIdentity(path: string): Promise<string | undefined> {
  const entry = await stat(path, { bigint: true }).catch(() => undefined);
  return entry?.isFile() ? `${entry.dev}:${entry.ino}:${entry.size}:${entry.mtimeNs}` : undefined;
}

/** Undefined if the file cannot be read. */
export function readTextFile(file: string): string | undefined {
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

function readCopy(remote: RemoteCopies, address: string): FileText {
  const copy = remote.text(address) ?? ({ kind: "unread" } as const);
  return copy.kind === "text" ? { ok: true, text: copy.text } : { ok: false, why: copy };
}

function listCopies(remote: RemoteCopies, folder: string, wanted: (name: string) => boolean): Listing | undefined {
  const listing = remote.listing(folder);
  switch (listing?.kind) {
    case undefined:
      return undefined;
    case "absent":
      return { ok: false, folder, reason: "it does not exist" };
    case "unreadable":
      return { ok: false, folder, reason: listing.reason };
    case "files": {
      const { length } = folder.replace(/\/*(?:[?#].*)?$/s, "");
      const isSkipped = (file: string): boolean => /\/(?:\.[^/]*|node_modules)\//.test(file.slice(length));
      return { ok: true, files: listing.files.filter((file) => wanted(basename(file)) && !isSkipped(file)).sort() };
    }
  }
}

function unreadable(reason: string): FileText {
  return { ok: false, why: { kind: "unreadable", reason } };
}

function codeOf(error: unknown): string {
  return errorCode(error) ?? String(error);
}
