import { sharePlaceholders } from "./share-placeholders.ts";
import type { CallValueRef, Piece, Template } from "./template.ts";

/** Which values of a template become part of the SQL text. The database decides which one works. */
export interface Rendering {
  /** Bare enums that are bound as values. The others are inlined. */
  readonly boundEnums: ReadonlySet<string>;
  /** Numbers, booleans, dates, times, UUIDs and literals of enums become SQL text, where SQL takes no parameter. */
  readonly inlinesTyped: boolean;
}

/** Above this number of bare enums, not every combination is tried. */
const COMBINED_AT_MOST = 4;

/**
 * The renderings of a template, the preferred one first: as few bound enums and as little inlined as possible. Enums for
 * which `isValue` is true are always bound.
 */
export function renderingsOf({ bareEnums }: Template, isValue: (name: string) => boolean): readonly Rendering[] {
  const values = [...bareEnums.keys()].filter(isValue);
  const names = [...bareEnums.keys()].filter((name) => !isValue(name));
  const sets =
    names.length <= COMBINED_AT_MOST
      ? Array.from({ length: 2 ** names.length }, (_, bits) => names.filter((_name, bit) => (bits >> bit) % 2 === 1))
      : [[], ...names.map((name) => [name]), names];
  const ordered = sets.toSorted((one, other) => one.length - other.length).map((set) => new Set([...values, ...set]));
  return [false, true].flatMap((inlinesTyped) => ordered.map((boundEnums) => ({ boundEnums, inlinesTyped })));
}

/** The template with the pieces of a rendering. */
export function withRendering(template: Template, { boundEnums, inlinesTyped }: Rendering): Template {
  if (boundEnums.size === 0 && !inlinesTyped) return template;
  const choose = (piece: Piece): Piece => {
    switch (piece.kind) {
      case "section":
        return { ...piece, pieces: piece.pieces.map(choose) };
      case "inline":
        if (!piece.canBind || !boundEnums.has(piece.ref.name)) return piece;
        return inlinesTyped ? literalOf(piece) : { ...literalOf(piece), kind: "value", remote: undefined };
      case "value":
        // SQL for another database is checked for each request, which a literal would skip.
        return inlinesTyped && piece.remote === undefined && canBeLiteral(piece.ref) ? literalOf(piece) : piece;
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
  return { kind: "typed-literal", ref, offset, shared: undefined };
}

function canBeLiteral({ valueClass, type }: CallValueRef): boolean {
  return valueClass === "scalar" || valueClass === "typed" || type === "UUID";
}
