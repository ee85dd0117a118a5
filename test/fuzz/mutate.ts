import fc from "fast-check";

/** One change of a text. Places are shares of its length, so that it can be made to any text. */
interface Edit {
  readonly kind: "insert" | "delete" | "repeat" | "replace" | "cut" | "swap-lines" | "drop-line" | "indent";
  readonly at: number;
  readonly length: number;
  readonly word: string;
}

function edit(words: readonly string[]): fc.Arbitrary<Edit> {
  return fc.record({
    kind: fc.constantFrom(
      "insert",
      "insert",
      "delete",
      "repeat",
      "replace",
      "cut",
      "swap-lines",
      "drop-line",
      "indent",
    ),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.integer({ min: 0, max: 12 }),
    word: fc.oneof({ arbitrary: fc.constantFrom(...words), weight: 4 }, fc.string({ unit: "binary", maxLength: 3 })),
  });
}

/** A text after some edits that a careless hand, or a careful enemy, might make. */
export function mutations(text: fc.Arbitrary<string>, words: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(text, fc.array(edit(words), { minLength: 1, maxLength: 5 }))
    .map(([original, edits]) => edits.reduce(mutate, original));
}

function mutate(text: string, { kind, at, length, word }: Edit): string {
  const from = Math.floor(at * text.length);
  const before = text.slice(0, from);
  const after = text.slice(from + length);
  switch (kind) {
    case "insert":
      return before + word + text.slice(from);
    case "delete":
      return before + after;
    case "repeat":
      return before + text.slice(from, from + length).repeat(3) + after;
    case "replace":
      return before + word + after;
    case "cut":
      return before;
    case "swap-lines":
    case "drop-line":
    case "indent":
      return mutateLine(text.split("\n"), { kind, at, length, word });
  }
}

function mutateLine(lines: readonly string[], { kind, at, length, word }: Edit): string {
  const index = Math.min(lines.length - 1, Math.floor(at * lines.length));
  const line = lines[index] ?? "";
  const other = (index + length) % lines.length;
  return lines
    .flatMap((each, place) => {
      if (kind === "drop-line") return place === index ? [] : [each];
      if (kind === "indent")
        return [place === index ? `${" ".repeat(length % 5)}${each.trimStart()}${word.slice(0, 1)}` : each];
      if (place === index) return [lines[other] ?? ""];
      return [place === other ? line : each];
    })
    .join("\n");
}
