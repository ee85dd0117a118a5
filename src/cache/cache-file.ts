import { mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";

/** Creates the folder of a cache file. */
export function makeRoom(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
}

/** Renames a file that is not a usable cache and returns its new path. Nothing is lost. */
export function setAside(path: string, now: Date): string {
  const aside = `${path}.aside-${now.toISOString().replace(/[:.]/g, "-")}`;
  renameSync(path, aside);
  // The write-ahead log belongs to it.
  try {
    renameSync(`${path}.wal`, `${aside}.wal`);
  } catch {
    rmSync(`${path}.wal`, { force: true });
  }
  return aside;
}
