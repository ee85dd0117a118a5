import { sharePlaceholders } from "./share-placeholders.ts";
import type { CallValueRef, Piece, Template } from "./template.ts";

/** One way to render a template: which values become part of the SQL text. The database decides which rendering works. */
export interface Rendering {
  /** Bare enums that are bound as values. The others are inlined. */
  readonly boundEnums: ReadonlySet<string>;
  /** Numbers, booleans, dates, times, UUIDs and enums become SQL text, for positions where SQL takes no parameter. */
  readonly inlinesTyped: boolean;
}

/** Above this number of bare enums, not every combination is tried. */
const MAX_COMBINED_ENUMS = 4;

/**
 * The renderings of a template, the preferred one first: as few bound enums and as little inlined as possible. Enums for
 * which `isValue` is true are always bound.
 */
export function renderingsOf({ bareEnums }: Template, isValue: (name: string) => boolean): readonly Rendering[] {
  const values = [...bareEnums.keys()].filter(isValue);
  const names = [...bareEnums.keys()].filter((name) => !isValue(name));
  const sets =
    names.length <= MAX_COMBINED_ENUMS
      ? Array.from({ length: 2 ** names.length }, (_, bits) => names.filter((_name, bit) => (bits >> bit) % 2 === 1))
      : [[], ...names.map((name) => [name]), names];
  const ordered = sets.toSorted((one, other) => one.length - other.length).map((set) => new Set([...values, ...set]));
  return [false, true].flatMap((inlinesTyped) => ordered.map((boundEnums) => ({ boundEnums, inlinesTyped })));
}

/** The template with its pieces adapted to this rendering. */
export function withRendering(template: Template, { boundEnums, inlinesTyped }: Rendering): Template {
  if (boundEnums.size === 0 && !inlinesTyped) return template;
  const choose = (piece: Piece): Piece => {
    switch (piece.kind) {
      case "section":
        return { ...piece, pieces: piece.pieces.map(choose) };
      case "inline":
        if (!piece.canBind || !boundEnums.has(piece.ref.name)) return piece;
        return inlinesTyped ? literalOf(piece) : { ...literalOf(piece), kind: "value", innerPosition: undefined };
      case "value":
        // A value in inner SQL is checked for each request, which a literal would skip.
        return inlinesTyped && piece.innerPosition === undefined && canBeLiteral(piece.ref) ? literalOf(piece) : piece;
      case "literal":
        return inlinesTyped && piece.allEnums ? { ...piece, quoted: true } : piece;
      default:
        return piece;
    }
  };
  return {
    ...template,
    pieces: sharePlaceholders(template.pieces.map(choose)),
    enforcedEnums: new Set(
      [...template.enforcedEnums].filter(
        (name) => inlinesTyped || !boundEnums.has(name) || template.bareEnums.get(name) === true,
      ),
    ),
  };
}

function literalOf({
  ref,
  offset,
}: Extract<Piece, { kind: "inline" | "value" }>): Extract<Piece, { kind: "typed-literal" }> {
  return { kind: "typed-literal", ref, offset, sharedKey: undefined };
}

function canBeLiteral({ valueClass, type }: CallValueRef): boolean {
  return valueClass === "scalar" || valueClass === "typed" || type === "UUID";
}
