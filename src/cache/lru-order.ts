/** Something that is used. Counted by uses, not by a clock: two may be used in the same millisecond. */
export interface LruItem {
  /** The number of its last use; 0 before the first. */
  lastUse: number;
  /** Its last use when it was put in its place. */
  placedUse: number;
}

/** Which of many were used least recently. */
export interface LruOrder<T extends LruItem> {
  /** Counts a use and puts it behind all others. */
  use(item: T): void;
  /** Counts a use, as cheaply as can be: it is put behind others when it would be its turn to go. */
  touch(item: T): void;
  /** Puts it among the others, if it is not there. */
  keep(item: T): void;
  remove(item: T): void;
  /** Those that were not used for longest come first. What is seen may be removed. */
  oldestFirst(): Iterable<T>;
}

export function openLruOrder<T extends LruItem>(): LruOrder<T> {
  // A set keeps the order in which things were put into it.
  const order = new Set<T>();
  let uses = 0;

  function place(item: T): void {
    order.delete(item);
    order.add(item);
    item.placedUse = item.lastUse;
  }

  return {
    use(item) {
      item.lastUse = ++uses;
      place(item);
    },
    touch(item) {
      item.lastUse = ++uses;
    },
    keep(item) {
      if (!order.has(item)) place(item);
    },
    remove: (item) => void order.delete(item),
    *oldestFirst() {
      for (const item of order) {
        if (item.lastUse > item.placedUse) place(item);
        else yield item;
      }
    },
  };
}

/** The `count` that were used last, of those that are wanted. */
export function mostRecentlyUsed<T extends LruItem>(
  items: Iterable<T>,
  count: number,
  isWanted: (item: T) => boolean,
): T[] {
  const found: T[] = [];
  for (const item of items) {
    const last = found.at(-1);
    if (!isWanted(item) || (found.length === count && last !== undefined && last.lastUse > item.lastUse)) continue;
    const place = found.findIndex((other) => other.lastUse < item.lastUse);
    found.splice(place < 0 ? found.length : place, 0, item);
    if (found.length > count) found.pop();
  }
  return found;
}
