/** An item in the order. Uses are numbered, since two may fall in the same millisecond. */
export interface LruItem {
  /** The number of its last use; 0 before the first. */
  lastUse: number;
  /** `lastUse` when it was last moved. */
  placedUse: number;
}

/** Orders items by their last use. */
export interface LruOrder<T extends LruItem> {
  /** Counts a use and moves the item to the end. */
  use(item: T): void;
  /** Counts a use without moving the item, which is cheap: `oldestFirst` moves it. */
  touch(item: T): void;
  /** Adds an item, if it is missing. */
  add(item: T): void;
  remove(item: T): void;
  /** The least recently used first. Items may be removed meanwhile. */
  oldestFirst(): Iterable<T>;
}

export function openLruOrder<T extends LruItem>(): LruOrder<T> {
  // A set keeps the order of insertion.
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
    add(item) {
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

/** The `count` most recently used items among the wanted ones. */
export function mostRecentlyUsed<T extends LruItem>(
  items: Iterable<T>,
  count: number,
  isWanted: (item: T) => boolean,
): T[] {
  const found: T[] = [];
  for (const item of items) {
    const last = found.at(-1);
    if (!isWanted(item) || (found.length === count && last !== undefined && last.lastUse > item.lastUse)) continue;
    const index = found.findIndex((other) => other.lastUse < item.lastUse);
    found.splice(index < 0 ? found.length : index, 0, item);
    if (found.length > count) found.pop();
  }
  return found;
}
