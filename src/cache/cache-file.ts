import { closeSync, existsSync, mkdirSync, openSync, readSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

export function createParentFolder(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
}

/** The first bytes of a SQLite file. */
const SQLITE = "SQLite format 3\0";
/** The magic bytes of a DuckDB file, after a checksum. */
const DUCKDB = { text: "DUCK", at: 8 };

/** What is at a path. `other`: nothing, or a file that is empty, unreadable or of an unknown kind. */
export function kindOfFile(path: string): "folder" | "duckdb" | "sqlite" | "other" {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return "folder";
  if (!stats?.isFile()) return "other";
  const start = firstBytes(path, SQLITE.length).toString("latin1");
  if (start === SQLITE) return "sqlite";
  return start.startsWith(DUCKDB.text, DUCKDB.at) ? "duckdb" : "other";
}

/** Empty if the file cannot be read: opening it later reports why. */
function firstBytes(path: string, count: number): Buffer {
  const bytes = Buffer.alloc(count);
  try {
    const file = openSync(path, "r");
    try {
      return bytes.subarray(0, readSync(file, bytes, 0, count, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return bytes.subarray(0, 0);
  }
}

/** Renames a file that is not a usable cache. Returns its new path. */
export function setAside(path: string, now: Date): string {
  const aside = `${path}.aside-${now.toISOString().replace(/[:.]/g, "-")}`;
  // The write-ahead log goes first: DuckDB would apply one that stayed behind to the file that is created at `path` next.
  if (existsSync(`${path}.wal`)) renameSync(`${path}.wal`, `${aside}.wal`);
  renameSync(path, aside);
  return aside;
}
