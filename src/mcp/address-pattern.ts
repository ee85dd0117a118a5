/** Returns the values of the placeholders in a URI, in order, or undefined if the URI does not match. */
export type AddressPattern = (uri: string) => readonly string[] | undefined;

/**
 * Matches URIs with placeholders. `literals` are the strings before, between and after the placeholders. A value is not empty
 * and contains no "/". If a URI matches in several ways, earlier values are as long as possible. Never backtracks, unlike a
 * regular expression, because URIs are untrusted and may be long.
 */
export function addressPattern(literals: readonly string[]): AddressPattern {
  const segments = segmentsOf(literals);
  return (uri) => {
    const parts = uri.split("/");
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

/** No value contains a "/", so each segment can be matched separately. */
function segmentsOf(literals: readonly string[]): readonly (readonly string[])[] {
  const segments: string[][] = [];
  for (const [index, literal] of literals.entries()) {
    const [first = "", ...others] = literal.split("/");
    const current = segments.at(-1);
    if (index === 0 || current === undefined) segments.push([first]);
    else current.push(first);
    for (const other of others) segments.push([other]);
  }
  return segments;
}

/** Matches from the end. Each value starts as late as possible, so that earlier values are longer. */
function valuesIn(part: string, literals: readonly string[]): readonly string[] | undefined {
  const [first = "", ...between] = literals;
  const last = between.pop();
  if (last === undefined) return part === first ? [] : undefined;
  if (!part.startsWith(first) || !part.endsWith(last)) return undefined;
  const values: string[] = [];
  let end = part.length - last.length;
  for (const literal of between.reverse()) {
    const latest = end - 1 - literal.length;
    const at = latest < 0 ? -1 : part.lastIndexOf(literal, latest);
    if (at < 0) return undefined;
    values.push(part.slice(at + literal.length, end));
    end = at;
  }
  if (end <= first.length) return undefined;
  values.push(part.slice(first.length, end));
  return values.reverse();
}
