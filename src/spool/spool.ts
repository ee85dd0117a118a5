import { copyFile, mkdir, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../error-message.ts";
import { RequestFailure } from "../failure.ts";
import { copyDatabase } from "./copy-database.ts";
import { createGrowingFile, type GrowingFile, openNameless, type SpooledFile } from "./spooled-file.ts";
import { type CurrentProcess, folderName, sweep } from "./sweep.ts";

/** Temporary files for responses that must be complete before they are sent. No file outlives its response. */
export interface Spool {
  /** The folder of the files, created with the first one. The engine must have write access to it. */
  readonly folder: string;
  /** Creates a private folder for data that the database spills. It is deleted when the spool closes. */
  makeSpill(): Promise<string>;
  /** Creates a private folder with links to files, by their paths in it. Rejects if it cannot. It is deleted when the spool closes. */
  linkFiles(files: ReadonlyMap<string, string>): Promise<string>;
  /** Copies a database file that another process may be changing. Rejects if it cannot. The copy is deleted when the spool closes. */
  copyDatabase(path: string): Promise<string>;
  /** Passes `work` the path of a new file to write. Rejects with the error of `work`, or with a RequestFailure. */
  write<T>(work: (path: string) => Promise<T>): Promise<Spooled<T>>;
  /** Opens a file to write in pieces. Rejects with a RequestFailure. */
  openGrowing(): Promise<GrowingFile>;
  /** Must be called after the last `write` has settled. */
  close(): Promise<void>;
}

export interface Spooled<T> {
  readonly file: SpooledFile;
  readonly value: T;
}

export interface SpoolOptions {
  /** The folder for temporary files, of the system or of the database. */
  readonly parent: string;
  readonly self: CurrentProcess;
}

/** Creates no files or folders yet. */
export function openSpool({ parent, self }: SpoolOptions): Spool {
  const spill = join(parent, folderName("spill", self.pid));
  const folder = join(parent, folderName("spool", self.pid));
  const links: string[] = [];
  let sweeping: Promise<void> | undefined;
  let makingFolder: Promise<void> | undefined;
  let hasFolder = false;
  let isClosed = false;

  /** Called for each file, because the system may delete old temporary folders while the service runs for weeks. */
  async function makeFolder(): Promise<void> {
    sweeping ??= makeParent();
    try {
      await sweeping;
      await mkdir(folder, { mode: 0o700 });
      hasFolder = true;
    } catch (error) {
      // Only a folder that this process created may exist. Another one could be readable by its owner.
      if (hasFolder && codeOf(error) === "EEXIST") return;
      sweeping = undefined;
      throw spoolFailure(error);
    }
  }

  /** Also deletes the folders of killed processes. */
  function makeParent(): Promise<void> {
    return mkdir(parent, { recursive: true }).then(() => sweep(parent, self));
  }

  async function newPath(): Promise<string> {
    if (isClosed) throw new RequestFailure({ kind: "draining" });
    makingFolder ??= makeFolder().finally(() => {
      makingFolder = undefined;
    });
    await makingFolder;
    return join(folder, crypto.randomUUID());
  }

  return {
    folder,
    async openGrowing() {
      return await createGrowingFile(await newPath()).catch((error: unknown) => {
        throw spoolFailure(error);
      });
    },
    async makeSpill() {
      sweeping ??= makeParent();
      // If the folder cannot be created, a query that needs it reports the error.
      await sweeping
        .then(() => mkdir(spill, { mode: 0o700 }))
        .catch(() => {
          sweeping = undefined;
        });
      return spill;
    },
    async linkFiles(files) {
      sweeping ??= makeParent();
      const target = join(parent, folderName("links", self.pid));
      links.push(target);
      try {
        await sweeping;
        await mkdir(target, { mode: 0o700 });
        for (const [path, file] of files) {
          const link = join(target, path);
          await mkdir(dirname(link), { recursive: true });
          // Windows allows links only to some users.
          await symlink(file, link).catch(() => copyFile(file, link));
        }
      } catch (error) {
        sweeping = undefined;
        throw new Error(unusable(error), { cause: error });
      }
      return target;
    },
    async copyDatabase(path) {
      try {
        const target = await newPath();
        await mkdir(target, { mode: 0o700 });
        return await copyDatabase(path, target);
      } catch (error) {
        throw error instanceof RequestFailure ? new Error(unusable(error.cause), { cause: error }) : error;
      }
    },
    async write(work) {
      const path = await newPath();
      try {
        const value = await work(path);
        const file = await openNameless(path).catch((error: unknown) => {
          throw spoolFailure(error);
        });
        return { file, value };
      } catch (error) {
        await rm(path, { force: true }).catch(() => {});
        throw error;
      }
    },
    async close() {
      isClosed = true;
      for (const each of hasFolder ? [folder, spill, ...links] : [spill, ...links]) {
        await rm(each, { recursive: true, force: true }).catch(() => {});
      }
    },
  };
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left",
  EDQUOT: "no space is left",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open",
  ENOENT: "the file is gone",
  ENOTDIR: "it is not a folder",
  EEXIST: "it is not a folder",
};

/** The message does not contain the path. */
function spoolFailure(error: unknown): RequestFailure {
  return new RequestFailure({ kind: "query-failed", message: unusable(error) }, { cause: error });
}

function unusable(error: unknown): string {
  const code = codeOf(error);
  return `the spool (duckdb.temp_directory, or the system's folder for temporary files) cannot be used: ${REASONS[code] ?? code}`;
}

function codeOf(error: unknown): string {
  return errorCode(error) ?? "unknown error";
}
