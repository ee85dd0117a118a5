import { mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";

/** Makes the folder of a cache file. */
export function makeRoom(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
}

/** Moves a file that is no cache of ours out of the way, and tells where it is now. Nothing of it is lost. */
export function setAside(path: string, now: Date): string {
  const aside = `${path}.aside-${now.toISOString().replace(/[:.]/g, "-")}`;
  renameSync(path, aside);
  // What DuckDB had not written into the file yet belongs to it.
  try {
    renameSync(`${path}.wal`, `${aside}.wal`);
  } catch {
    rmSync(`${path}.wal`, { force: true });
  }
  return aside;
}
