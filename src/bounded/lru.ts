import { copyString, textBytes } from "./own-text.ts";

/**
 * A map that is limited in bytes, including keys. Evicts the least recently used entries. For all caches that clients can
 * fill.
 */
export interface Lru<V> {
  get(key: string): V | undefined;
  /** An entry that is too large on its own is not stored. */
  set(key: string, value: V): void;
  delete(key: string): void;
  deleteWhere(matches: (key: string, value: V) => boolean): void;
  clear(): void;
  /** The size of all entries. */
  bytes(): number;
}

export interface LruOptions<V> {
  readonly maxBytes: number;
  /** Default: an eighth of `maxBytes`, so that a few large entries cannot evict all others. */
  readonly maxEntryBytes?: number;
  /** The size of a value, without its key. It must not change while the entry exists. */
  readonly bytesOf?: (value: V) => number;
  /** Called for each removed value. */
  readonly onRemove?: (value: V) => void;
}

interface Entry<V> {
  readonly key: string;
  readonly value: V;
  readonly bytes: number;
}

/** Memory of an entry object and its slot in the hash table, which may be half empty. */
const ENTRY_BYTES = 120;

export function openLru<V>({ maxBytes, maxEntryBytes = maxBytes / 8, bytesOf, onRemove }: LruOptions<V>): Lru<V> {
  // A Map preserves the order of insertion, so the first entry is the least recently used.
  const entries = new Map<string, Entry<V>>();
  let bytes = 0;

  function remove(entry: Entry<V>): void {
    entries.delete(entry.key);
    bytes -= entry.bytes;
    onRemove?.(entry.value);
  }

  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      // With the stored key, because the argument may keep a request body in memory.
      entries.set(entry.key, entry);
      return entry.value;
    },
    set(key, value) {
      const known = entries.get(key);
      if (known?.value === value) return;
      if (known !== undefined) remove(known);
      const cost = ENTRY_BYTES + textBytes(key) + (bytesOf?.(value) ?? 0);
      if (cost > maxEntryBytes) return;
      const entry = { key: known?.key ?? copyString(key), value, bytes: cost };
      entries.set(entry.key, entry);
      bytes += cost;
      for (const oldest of entries.values()) {
        if (bytes <= maxBytes) return;
        remove(oldest);
      }
    },
    delete(key) {
      const entry = entries.get(key);
      if (entry !== undefined) remove(entry);
    },
    deleteWhere(matches) {
      for (const entry of [...entries.values()]) if (matches(entry.key, entry.value)) remove(entry);
    },
    clear() {
      for (const entry of [...entries.values()]) remove(entry);
    },
    bytes: () => bytes,
  };
}
