import { editDistance } from "../edit-distance.ts";

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
