/** What the engine may use where the project says nothing of it. */
export interface EngineRoom {
  /** Bytes of memory that the process can have. Undefined: DuckDB finds it out by itself. */
  readonly memoryBytes?: number | undefined;
  /** Where queries put what is too much for memory. Undefined: where DuckDB puts it. */
  readonly spillFolder?: string | undefined;
}

/** The rest is for Node, for answers on their way to clients, and for what DuckDB does not count. */
const SHARE_OF_MEMORY = 0.6;
const MIB = 1_048_576;
const LEAST_MIB = 64;
/** Rows that a query finds ahead of its reader. A quarter of what DuckDB takes costs no time, and a slow reader half the memory. */
const ROWS_AHEAD = "256KiB";

/** The project's settings, and ours where it makes none. */
export function withDefaults(own: ReadonlyMap<string, string>, room: EngineRoom): ReadonlyMap<string, string> {
  const settings = new Map(own);
  const names = new Map([...own].map(([name, value]) => [name.toLowerCase(), value]));
  if (room.memoryBytes !== undefined && !names.has("memory_limit") && !names.has("max_memory")) {
    const share = Math.floor((room.memoryBytes * SHARE_OF_MEMORY) / MIB);
    settings.set("memory_limit", `${Math.max(LEAST_MIB, share)}MiB`);
  }
  if (!names.has("streaming_buffer_size")) settings.set("streaming_buffer_size", ROWS_AHEAD);
  // Nothing is said by an empty text: then nothing is put anywhere.
  if (room.spillFolder === undefined || names.get("temp_directory") === "") return settings;
  for (const name of own.keys()) if (name.toLowerCase() === "temp_directory") settings.delete(name);
  return settings.set("temp_directory", room.spillFolder);
}
