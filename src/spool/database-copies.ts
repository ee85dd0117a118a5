import { constants, copyFile, mkdir, open, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { errorCode } from "../error-message.ts";
import { type CurrentProcess, folderName, sweep } from "./sweep.ts";

/** Private copies of database files, so that the originals cannot be changed. */
export interface DatabaseCopies {
  /** The path of the copy, with the same name. If there is no such file, none is made. Rejects with a CopyError. */
  copy(path: string): Promise<string>;
  /** The text with the paths of the originals instead of those of the copies. */
  showOriginals(text: string): string;
  /** Deletes the copies. */
  close(): Promise<void>;
}

/** Why a file cannot be copied. */
export class CopyError extends Error {}

/** What the copies of one run have in common: each must be made from the same contents. */
export type KnownContents = Map<string, string>;

export interface CopyOptions {
  /** The system's folder for temporary files. */
  readonly temporary: string;
  readonly self: CurrentProcess;
  readonly known: KnownContents;
}

/** Files that DuckDB and SQLite keep beside a database, with changes that are not in it yet. */
const COMPANIONS = [".wal", "-wal", "-journal"] as const;
const ATTEMPTS = 5;

export async function openDatabaseCopies({ temporary, self, known }: CopyOptions): Promise<DatabaseCopies> {
  await sweep(temporary, self);
  const folder = join(temporary, folderName("copies", self.pid));
  const copies = new Map<string, string>();

  /** Copies again if another program changed the file meanwhile. */
  async function copyWhole(path: string, target: string): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const before = await contentsOf(path);
      for (const companion of ["", ...COMPANIONS]) await copyOne(path + companion, target + companion);
      if ((await contentsOf(path)) !== before) continue;
      if ((known.get(path) ?? before) !== before) {
        throw new CopyError(`'${path}' has changed since the first test; run the tests again`);
      }
      known.set(path, before);
      return;
    }
    throw new CopyError(`'${path}' is being changed by another program; stop it, then run the tests again`);
  }

  return {
    async copy(path) {
      const made = copies.get(path);
      if (made !== undefined) return made;
      const home = join(folder, String(copies.size));
      const target = join(home, basename(path));
      copies.set(path, target);
      await mkdir(home, { recursive: true, mode: 0o700 });
      await copyWhole(path, target);
      return target;
    },
    showOriginals: (text) => [...copies].reduce((shown, [path, copy]) => shown.replaceAll(copy, path), text),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A file system that supports it shares the blocks until one of the files changes. */
async function copyOne(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  } catch (error) {
    const code = errorCode(error);
    if (code !== "ENOENT") throw new CopyError(`'${from}' cannot be copied: ${code ?? String(error)}`);
    await rm(to, { force: true });
  }
}

/** Differs if a file or one of its companions has changed. */
async function contentsOf(path: string): Promise<string> {
  const entries = await Promise.all(
    ["", ...COMPANIONS].map((companion) => stat(path + companion, { bigint: true }).catch(() => undefined)),
  );
  return entries
    .map((entry) => (entry === undefined ? "none" : `${entry.ino}:${entry.size}:${entry.mtimeNs}`))
    .join(" ");
}

/** Whether a file is a database of DuckDB or SQLite, by its first bytes. */
export async function isDatabaseFile(path: string): Promise<boolean> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return false;
  try {
    const { buffer } = await file.read(Buffer.alloc(16), 0, 16, 0);
    return buffer.toString("latin1", 8, 12) === "DUCK" || buffer.toString("latin1", 0, 15) === "SQLite format 3";
  } catch {
    // A folder, for example.
    return false;
  } finally {
    await file.close();
  }
}
