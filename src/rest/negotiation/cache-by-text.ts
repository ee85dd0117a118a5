/** Clients send few different headers. */
const MAX_ENTRIES = 256;
/** Longer headers are rare, so they are not cached. */
const MAX_LENGTH = 512;

/** Caches results by string, because most requests repeat the headers of earlier ones. Bounded in memory. */
export function cacheByText<T>(compute: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const computed = compute(text);
    if (text.length > MAX_LENGTH) return computed;
    if (known.size >= MAX_ENTRIES) known.clear();
    known.set(text, computed);
    return computed;
  };
}
