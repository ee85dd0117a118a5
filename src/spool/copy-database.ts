import { constants, copyFile, readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../error-message.ts";

/** Another process that writes all the time could change the files during every copy. */
const ATTEMPTS = 20;

/**
 * Copies a database file and its write-ahead log into a folder, while another process uses it. Returns the path of the copy, which
 * contains everything that was committed. Rejects if the files change all the time.
 */
export async function copyDatabase(path: string, folder: string): Promise<string> {
  const [source, name] = [dirname(path), basename(path)];
  const isFile = (file: string): boolean => file === name;
  // A checkpoint replaces `.wal` by `.wal.checkpoint`.
  const isLog = (file: string): boolean => file.startsWith(`${name}.wal`);
  const copyUnchanged = async (isWanted: (file: string) => boolean): Promise<boolean> => {
    const before = await statesOf(source, isWanted);
    for (const file of (await readdir(folder)).filter(isWanted)) await rm(join(folder, file));
    return (await copyAll(before, source, folder)) && isSame(before, await statesOf(source, isWanted));
  };
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = await statesOf(source, isFile);
    if (!(await copyUnchanged(isFile))) continue;
    // The file changes only at checkpoints, and the log with every commit. As long as the file is the same, any log goes with it.
    const isComplete = (await copyUnchanged(isLog)) || (await copyUnchanged(isLog)) || (await copyUnchanged(isLog));
    if (isComplete && isSame(before, await statesOf(source, isFile))) return join(folder, name);
  }
  throw new Error("it changes all the time");
}

/** A string for each file that changes with its content. */
type States = ReadonlyMap<string, string>;

async function statesOf(folder: string, isWanted: (file: string) => boolean): Promise<States> {
  const states = new Map<string, string>();
  for (const file of (await readdir(folder)).filter(isWanted)) {
    const entry = await stat(join(folder, file), { bigint: true }).catch(() => undefined);
    if (entry !== undefined) states.set(file, `${entry.ino}:${entry.size}:${entry.mtimeNs}`);
  }
  return states;
}

function isSame(before: States, after: States): boolean {
  return before.size === after.size && [...before].every(([file, state]) => after.get(file) === state);
}

/** False if a file is gone: a checkpoint removes the log. */
async function copyAll(files: States, source: string, folder: string): Promise<boolean> {
  try {
    for (const file of files.keys()) await copyFile(join(source, file), join(folder, file), constants.COPYFILE_FICLONE);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}
