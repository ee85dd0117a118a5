import type { Column } from "./column.ts";

/** The names of the columns, made unique: the second `a` is `a_1`, the third `a_2`, skipping names that exist. */
export function uniqueNames(columns: readonly Column[]): readonly string[] {
  return makeUnique(columns.map(({ name }) => name));
}

/** The same for any names. Names are duplicates if `fold` returns the same string for them. */
export function makeUnique(
  names: readonly string[],
  fold: (name: string) => string = (name) => name,
): readonly string[] {
  const taken = new Set(names.map(fold));
  const seen = new Set<string>();
  return names.map((name) => {
    if (!seen.has(fold(name))) {
      seen.add(fold(name));
      return name;
    }
    let number = 1;
    while (taken.has(fold(`${name}_${number}`))) number += 1;
    const unique = `${name}_${number}`;
    taken.add(fold(unique));
    return unique;
  });
}

/** The columns, renamed where `uniqueNames` requires it. */
export function withUniqueNames(columns: readonly Column[]): readonly Column[] {
  if (new Set(columns.map(({ name }) => name)).size === columns.length) return columns;
  const names = uniqueNames(columns);
  return columns.map((column, index) => ({ ...column, name: names[index] ?? column.name }));
}
