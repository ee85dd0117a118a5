/** What stands in the places of an address, in their order; undefined when it does not fit. */
export type AddressPattern = (address: string) => readonly string[] | undefined;

/**
 * An address with places for values: `written` is what is written out around them, so that it has one entry more than there
 * are places. A value is not empty and has no "/"; where several ways fit, the first value is the longest. Nothing is ever
 * tried twice, which a regular expression would do: addresses come from anybody, and may be long.
 */
export function addressPattern(written: readonly string[]): AddressPattern {
  const segments = segmentsOf(written);
  return (address) => {
    const parts = address.split("/");
    if (parts.length !== segments.length) return undefined;
    const values: string[] = [];
    for (const [index, segment] of segments.entries()) {
      const found = valuesIn(parts[index] ?? "", segment);
      if (found === undefined) return undefined;
      values.push(...found);
    }
    return values;
  };
}

/** No value has a "/", so that each is found between two of them. */
function segmentsOf(written: readonly string[]): readonly (readonly string[])[] {
  const segments: string[][] = [];
  for (const [index, text] of written.entries()) {
    const [first = "", ...others] = text.split("/");
    const before = segments.at(-1);
    if (index === 0 || before === undefined) segments.push([first]);
    else before.push(first);
    for (const other of others) segments.push([other]);
  }
  return segments;
}

/** From the end: a value that begins as late as it can leaves the most to those before it. */
function valuesIn(part: string, written: readonly string[]): readonly string[] | undefined {
  const [first = "", ...between] = written;
  const last = between.pop();
  if (last === undefined) return part === first ? [] : undefined;
  if (!part.startsWith(first) || !part.endsWith(last)) return undefined;
  const values: string[] = [];
  let end = part.length - last.length;
  for (const text of between.reverse()) {
    const latest = end - 1 - text.length;
    const at = latest < 0 ? -1 : part.lastIndexOf(text, latest);
    if (at < 0) return undefined;
    values.push(part.slice(at + text.length, end));
    end = at;
  }
  if (end <= first.length) return undefined;
  values.push(part.slice(first.length, end));
  return values.reverse();
}
