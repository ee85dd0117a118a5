import type { ColumnType } from "../../../result/column.ts";
import { type Builder, fixedBuilder, listBuilder } from "./builder.ts";
import { asText, plainType, type ValueType } from "./plain-types.ts";

/** What the catalog of the server says about a type. */
export interface CatalogType {
  readonly oid: number;
  /** `e` for an enum, `d` for a domain. */
  readonly kind: string;
  /** The type of an array's items, 0 for any other type. */
  readonly item: number;
  /** The type that a domain is based on. */
  readonly base: number;
  /** The values of an enum, in their order. */
  readonly labels: readonly string[];
}

/** The columns are text, so that they are the same for every type. */
export const CATALOG_SQL =
  "SELECT t.oid::text, t.typtype::text, (CASE WHEN t.typcategory = 'A' AND t.typlen = -1 THEN t.typelem ELSE 0 END)::text, " +
  "t.typbasetype::text, (SELECT coalesce(json_agg(e.enumlabel ORDER BY e.enumsortorder), '[]') FROM pg_catalog.pg_enum e " +
  "WHERE e.enumtypid = t.oid)::text FROM pg_catalog.pg_type t WHERE t.oid = ANY ($1::oid[])";

export function catalogType([oid, kind, item, base, labels]: readonly (string | null)[]): CatalogType {
  const values: unknown = JSON.parse(labels ?? "[]");
  return {
    oid: Number(oid),
    kind: kind ?? "",
    item: Number(item),
    base: Number(base),
    labels: Array.isArray(values) ? values.map(String) : [],
  };
}

/** The types of one server. */
export interface Types {
  /** Those of these OIDs that have to be looked up in the catalog, or whose items have to be. */
  unknown(oids: readonly number[]): readonly number[];
  learn(found: readonly CatalogType[]): void;
  /** They are looked up again. */
  forget(): void;
  typeOf(oid: number, modifier: number): ValueType;
}

export function openTypes(): Types {
  const catalog = new Map<number, CatalogType>();

  function missing(oid: number): readonly number[] {
    if (plainType(oid, -1) !== undefined) return [];
    const known = catalog.get(oid);
    if (known === undefined) return [oid];
    return [known.item, known.kind === "d" ? known.base : 0].flatMap((each) => (each === 0 ? [] : missing(each)));
  }

  function typeOf(oid: number, modifier: number): ValueType {
    const plain = plainType(oid, modifier);
    if (plain !== undefined) return plain;
    const known = catalog.get(oid);
    if (known === undefined) return asText;
    if (known.kind === "e") return enumType(known.labels);
    if (known.kind === "d") return typeOf(known.base, -1);
    if (known.item === 0) return asText;
    const item = typeOf(known.item, modifier);
    // The items of a binary array are binary too.
    return item.isBinary && item.column.kind !== "list" ? listType(item) : asText;
  }

  return {
    unknown: (oids) => [...new Set(oids.flatMap(missing))],
    learn(found) {
      for (const type of found) catalog.set(type.oid, type);
    },
    forget: () => catalog.clear(),
    typeOf,
  };
}

/** An enum has a value that it did not have when its type was looked up. */
export class OutdatedType extends Error {
  constructor(label: string) {
    super(`The enum has a new value: ${label}`);
    this.name = "OutdatedType";
  }
}

function listType(item: ValueType): ValueType {
  return { column: { kind: "list", item: item.column }, isBinary: true, open: () => listBuilder(item.open) };
}

function enumType(labels: readonly string[]): ValueType {
  const indexes = new Map(labels.map((label, index) => [label, index]));
  const indexOf = (label: string): number => {
    const index = indexes.get(label);
    if (index === undefined) throw new OutdatedType(label);
    return index;
  };
  const column: ColumnType = { kind: "enum", bits: 32, values: labels };
  const open = (): Builder =>
    fixedBuilder(4, (to, at, bytes, start, length) =>
      to.setUint32(at, indexOf(bytes.toString("utf8", start, start + length)), true),
    );
  return { column, isBinary: true, open };
}
