import type { OpenOptions } from "../../embedded-engine.ts";

/** DuckDB's share of the memory. The rest is for Node, for buffered responses and for memory that DuckDB does not track. */
const SHARE_OF_MEMORY = 0.6;
const MIB = 1_048_576;
const MIN_MIB = 64;
/** How much a query buffers ahead of its reader. A quarter of DuckDB's default is as fast, with half the memory. */
const STREAMING_BUFFER_SIZE = "256KiB";

/** The project's settings with defaults for those that it does not set. `spillFolder` replaces its temp_directory. */
export function withDefaults(
  own: ReadonlyMap<string, string>,
  { memoryBytes, spillFolder }: Pick<OpenOptions, "memoryBytes" | "spillFolder">,
): ReadonlyMap<string, string> {
  const settings = new Map(own);
  const names = new Map([...own].map(([name, value]) => [name.toLowerCase(), value]));
  if (memoryBytes !== undefined && !names.has("memory_limit") && !names.has("max_memory")) {
    const share = Math.floor((memoryBytes * SHARE_OF_MEMORY) / MIB);
    settings.set("memory_limit", `${Math.max(MIN_MIB, share)}MiB`);
  }
  if (!names.has("streaming_buffer_size")) settings.set("streaming_buffer_size", STREAMING_BUFFER_SIZE);
  // An empty string turns spilling off.
  if (spillFolder === undefined || names.get("temp_directory") === "") return settings;
  for (const name of own.keys()) if (name.toLowerCase() === "temp_directory") settings.delete(name);
  return settings.set("temp_directory", spillFolder);
}
