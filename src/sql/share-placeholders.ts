import type { LiteralPart, Piece, SharedKey } from "./template.ts";

/** Gives values and literals that occur several times a common key. */
export function sharePlaceholders(pieces: readonly Piece[]): readonly Piece[] {
  const counts = new Map<string, number>();
  const count = (list: readonly Piece[]): void => {
    for (const piece of list) {
      if (piece.kind === "section") count(piece.pieces);
      const key = keyOf(piece);
      if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  };
  count(pieces);
  const share = (list: readonly Piece[]): readonly Piece[] =>
    list.map((piece): Piece => {
      switch (piece.kind) {
        case "section":
          return { ...piece, pieces: share(piece.pieces) };
        case "value":
        case "typed-literal":
        case "literal": {
          const key = keyOf(piece);
          return { ...piece, sharedKey: key !== undefined && (counts.get(key) ?? 0) > 1 ? key : undefined };
        }
        default:
          return piece;
      }
    });
  return share(pieces);
}

function keyOf(piece: Piece): SharedKey {
  switch (piece.kind) {
    case "value":
    case "typed-literal":
      return `${piece.ref.scope}.${piece.ref.name}`;
    case "literal":
      return JSON.stringify(piece.parts.map(partKey));
    default:
      return undefined;
  }
}

function partKey(part: LiteralPart): unknown {
  switch (part.kind) {
    case "text":
      return part.text;
    case "value":
      return { value: `${part.ref.scope}.${part.ref.name}` };
    case "section":
      return { section: `${part.ref.scope}.${part.ref.name}`, inverted: part.inverted, parts: part.parts.map(partKey) };
  }
}
