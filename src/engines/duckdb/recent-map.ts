/** A map that keeps the entries used most recently. `dropped` is told of each entry that goes. */
export interface RecentMap<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  delete(key: K): void;
  deleteWhere(matches: (key: K, value: V) => boolean): void;
  clear(): void;
}

export function recentMap<K, V>(size: number, dropped: (value: V) => void = () => {}): RecentMap<K, V> {
  // A Map remembers the order of insertion: the first entry is the one that was used longest ago.
  const entries = new Map<K, V>();

  function remove(key: K): void {
    const value = entries.get(key);
    if (value !== undefined && entries.delete(key)) dropped(value);
  }

  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      remove(key);
      entries.set(key, value);
      if (entries.size <= size) return;
      for (const oldest of entries.keys()) {
        remove(oldest);
        return;
      }
    },
    delete: remove,
    deleteWhere(matches) {
      for (const [key, value] of [...entries]) if (matches(key, value)) remove(key);
    },
    clear() {
      for (const key of [...entries.keys()]) remove(key);
    },
  };
}
