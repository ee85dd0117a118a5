import type { Column, ColumnType } from "../result/column.ts";
import { sqlTypeName } from "./sql-type-name.ts";

/** What is known about the columns of an endpoint's rows. */
export type RowShape =
  | {
      readonly kind: "known";
      readonly columns: readonly ShapedColumn[];
      /** Whether some calls return no list of rows, not even an empty one. */
      readonly sometimesAbsent: boolean;
    }
  /** Unknown until the query runs. */
  | { readonly kind: "unknown" }
  /** A write that returns no rows. */
  | { readonly kind: "none" };

/** A column. Its type and presence may depend on the parameters of a call. */
export interface ShapedColumn {
  readonly name: string;
  /** More than one if the type depends on the parameters. */
  readonly types: readonly [ColumnType, ...ColumnType[]];
  readonly isAlwaysPresent: boolean;
}

export const UNKNOWN_ROWS: RowShape = { kind: "unknown" };

/** Merges the columns of all variants of a template. A variant without columns has no rows. */
export function mergeShapes(variants: readonly (readonly Column[])[]): RowShape {
  const withRows = variants.filter((columns) => columns.length > 0);
  if (withRows.length === 0) return { kind: "none" };
  const merged = new Map<string, { readonly types: Map<string, ColumnType>; variants: number }>();
  for (const columns of withRows) {
    for (const { name, type } of columns) {
      const known = merged.get(name) ?? { types: new Map(), variants: 0 };
      known.types.set(sqlTypeName(type), type);
      known.variants += 1;
      merged.set(name, known);
    }
  }
  return {
    kind: "known",
    sometimesAbsent: withRows.length < variants.length,
    columns: [...merged].flatMap(([name, { types, variants: count }]) => {
      const [first, ...others] = types.values();
      return first === undefined
        ? []
        : [{ name, types: [first, ...others], isAlwaysPresent: count === withRows.length } as const];
    }),
  };
}
