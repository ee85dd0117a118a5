/** Clients send few different headers. */
const TEXTS = 256;
/** Nobody who is in a hurry sends a longer one. */
const LENGTH = 512;

/** Remembers what became of a text: most requests carry the headers of the one before. Bounded, whatever is sent. */
export function rememberByText<T>(compute: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const computed = compute(text);
    if (text.length > LENGTH) return computed;
    if (known.size >= TEXTS) known.clear();
    known.set(text, computed);
    return computed;
  };
}
