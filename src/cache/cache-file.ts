import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname } from "node:path";

export function createParentFolder(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
}

/** Renames a file that is not a usable cache. Returns its new path. */
export function setAside(path: string, now: Date): string {
  const aside = `${path}.aside-${now.toISOString().replace(/[:.]/g, "-")}`;
  // Its write-ahead log goes first: a log that stays behind would be applied to the new file.
  if (existsSync(`${path}.wal`)) renameSync(`${path}.wal`, `${aside}.wal`);
  renameSync(path, aside);
  return aside;
}
