/** The known word that was probably meant: a similar one, a prefix or an extension of it. */
export function suggestion(word: string, known: readonly string[]): string | undefined {
  return (
    nearest(word, known) ?? known.find((candidate) => isShortened(word, candidate) || isShortened(candidate, word))
  );
}

function isShortened(short: string, long: string): boolean {
  return short.length >= 3 && long.startsWith(short);
}

/** The known word with the smallest edit distance, if it is small enough. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3));
  let best: { readonly word: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), limit + 1);
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { word: candidate, distance };
  }
  return best?.word;
}

/** `unknown key 'http-prot'; did you mean 'http-port'?` */
export function unknownMessage(what: string, word: string, known: readonly string[]): string {
  const near = suggestion(word, known);
  if (near !== undefined) return `unknown ${what} '${word}'; did you mean '${near}'?`;
  if (known.length === 0) return `unknown ${what} '${word}'; there are none here`;
  return `unknown ${what} '${word}'; known: ${known.join(", ")}`;
}

/** Counts insertions, deletions, substitutions and swaps of neighbours, up to `limit`. */
function editDistance(left: string, right: string, limit = Number.POSITIVE_INFINITY): number {
  if (Math.abs(left.length - right.length) >= limit) return limit;
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let cost = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]) {
        cost = Math.min(cost, at(beforePrevious, column - 2) + 1);
      }
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return Math.min(at(previous, right.length), limit);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
