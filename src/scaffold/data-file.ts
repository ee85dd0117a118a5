import { open } from "node:fs/promises";
import { basename, isAbsolute, relative, resolve, sep } from "node:path";
import { errorCode } from "../error-message.ts";
import { isPlain, slugOf } from "./names.ts";

/** A data file that the user named. */
export interface DataFile {
  /** As the user wrote it. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Without extension. */
  readonly title: string;
  readonly type: DataType;
  readonly bytes: number;
}

type DataType = "csv" | "json" | "parquet" | "excel" | "duckdb" | "sqlite";

/** The message says what is wrong with a file, or with what the user asked for. */
export class ScaffoldError extends Error {}

const EXTENSIONS: ReadonlyMap<string, DataType> = new Map([
  ["csv", "csv"],
  ["tsv", "csv"],
  ["json", "json"],
  ["ndjson", "json"],
  ["jsonl", "json"],
  ["parquet", "parquet"],
  ["xlsx", "excel"],
]);

/** Databases are recognized by their content, since `.db` says nothing. */
const SIGNATURES: readonly (readonly [offset: number, bytes: string, type: DataType])[] = [
  [8, "DUCK", "duckdb"],
  [0, "SQLite format 3\0", "sqlite"],
  [0, "PAR1", "parquet"],
];

const SUFFIX = /\.([a-z0-9]+)(?:\.(?:gz|zst))?$/i;

/** Finds out what a file is, from its first bytes and its extension. Rejects with a ScaffoldError. */
export async function openDataFile(name: string, cwd: string): Promise<DataFile> {
  const path = resolve(cwd, name);
  if (!isPlain(path)) {
    throw new ScaffoldError(
      `${name}: '$', '{' and '}' in a path mean variables in YAML; rename the file or its folder`,
    );
  }
  const { start, bytes } = await readStart(name, path);
  const extension = SUFFIX.exec(name)?.[1]?.toLowerCase() ?? "";
  const signature = SIGNATURES.find(([offset, text]) => start.startsWith(text, offset))?.[2];
  const type = signature ?? EXTENSIONS.get(extension);
  if (type === undefined) {
    const known = [...EXTENSIONS.keys()].map((each) => `.${each}`).join(", ");
    throw new ScaffoldError(`${name}: not a data file; expected a DuckDB or SQLite database, or one of ${known}`);
  }
  if (bytes === 0) throw new ScaffoldError(`${name}: the file is empty`);
  return { name, path, title: basename(path).replace(SUFFIX, ""), type, bytes };
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "not found",
  EACCES: "permission denied",
  EISDIR: "is a folder; name the files in it",
};

async function readStart(name: string, path: string): Promise<{ readonly start: string; readonly bytes: number }> {
  try {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(32), 0, 32, 0);
      return { start: buffer.toString("latin1", 0, bytesRead), bytes: size };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = errorCode(error) ?? String(error);
    throw new ScaffoldError(`${name}: ${REASONS[code] ?? code}`);
  }
}

export function isDatabase({ type }: DataFile): boolean {
  return type === "duckdb" || type === "sqlite";
}

/** Names that DuckDB uses for databases of its own. */
export const TAKEN_CONNECTIONS: readonly string[] = ["main", "memory", "temp", "system", "cache"];

export function connectionName({ title }: DataFile): string {
  return slugOf(title, "_");
}

/** The path of the file for a project in `folder`. */
export function relativePath({ path }: DataFile, folder: string): string {
  const from = relative(folder, path).split(sep).join("/");
  return isAbsolute(from) || from.startsWith("../") ? from : `./${from}`;
}

/** The options of the connection to a file at this path. */
export function connectionOptions(file: DataFile, path: string): { readonly type: DataType; readonly path: string } {
  // Of a file that is not a database, the path may be a pattern.
  return { type: file.type, path: isDatabase(file) ? path : path.replaceAll(/[*?[]/g, "[$&]") };
}
