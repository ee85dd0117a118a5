import { lstat, mkdir, open, realpath, rename, rm, rmdir, stat, unlink } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Texts } from "../config/text-files.ts";
import { errorCode } from "../error-message.ts";
import { ScaffoldError } from "./data-file.ts";

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  ENOTDIR: "a part of the path is a file",
};

export interface Changes {
  /** New files. */
  readonly created: Texts;
  /** A file that gets a new text, and the text. */
  readonly replaced?: { readonly file: string; readonly text: string } | undefined;
}

/** Which of these files exist. */
export async function existingFiles(files: Iterable<string>): Promise<readonly string[]> {
  const found = await Promise.all(
    [...files].map((file) =>
      lstat(file).then(
        () => [file],
        () => [],
      ),
    ),
  );
  return found.flat();
}

/** Writes all files or none, and never replaces one that is not meant to be. Rejects with a ScaffoldError. */
export async function writeFiles({ created, replaced }: Changes): Promise<void> {
  const files: string[] = [];
  const folders: string[] = [];
  let current = "";
  try {
    for (const [file, text] of created) {
      current = file;
      folders.push(...(await makeFolder(dirname(file))));
      // Fails if the file exists, even if another program has just created it.
      await writeText(file, text, { flags: "wx", onOpen: () => files.push(file) });
    }
    if (replaced !== undefined) {
      current = replaced.file;
      await replaceFile(replaced.file, replaced.text);
    }
  } catch (error) {
    for (const file of files) await unlink(file).catch(() => {});
    // A folder into which another program has put something stays.
    for (const folder of folders.toReversed()) await rmdir(folder).catch(() => {});
    const code = errorCode(error) ?? String(error);
    const reason = code === "EEXIST" ? "it already exists" : (REASONS[code] ?? code);
    throw new ScaffoldError(`cannot write ${current}: ${reason}; nothing was written`, { cause: error });
  }
}

/** Creates a folder and those above it. Returns the ones that did not exist, from the top. */
async function makeFolder(folder: string): Promise<readonly string[]> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return [];
  const made: string[] = [];
  for (let each = folder; ; each = dirname(each)) {
    made.unshift(each);
    if (each === resolve(first)) return made;
  }
}

interface Opening {
  readonly flags: "wx";
  readonly mode?: number;
  readonly onOpen?: () => void;
}

async function writeText(file: string, text: string, { flags, mode, onOpen }: Opening): Promise<void> {
  const handle = await open(file, flags, mode);
  try {
    onOpen?.();
    await handle.writeFile(text);
    // A full disk may show only now.
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Readers see the old text or the new one. */
async function replaceFile(file: string, text: string): Promise<void> {
  const target = await realpath(file);
  const beside = `${target}.new`;
  const { mode } = await stat(target);
  try {
    await writeText(beside, text, { flags: "wx", mode });
    await rename(beside, target);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") await rm(beside, { force: true });
    throw error;
  }
}
