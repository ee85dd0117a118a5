/**
 * When the tables of our own database last changed. Everything that changes them goes through this process, so what was
 * read at a moment is still true as long as nobody wrote to its tables since.
 */
export interface DataVersions {
  /** A moment, to be asked for before a snapshot is taken. */
  now(): number;
  /** Whether the tables (by their short names) are as they were. False also while somebody writes: a commit is seen before it is reported. */
  unchangedSince(moment: number, tables: readonly string[]): boolean;
  /** Whether nobody has changed any table since, and nobody is about to. */
  quietSince(moment: number): boolean;
  /** Somebody is about to commit a change of these tables (all, when it cannot be told which). Ended by the returned function. */
  writing(tables: readonly string[] | "all"): () => void;
}

/**
 * A table by the last part of its name, in lower case: a statement may leave the others out. Tables of the same name in
 * two schemas count as one, which costs a little memory of theirs and nothing else.
 */
export function shortName(table: string): string {
  const [, quoted, plain = ""] = /(?:"((?:[^"]|"")*)"|([^."]*))$/.exec(table) ?? [];
  return (quoted?.replaceAll('""', '"') ?? plain).toLowerCase();
}

export function dataVersions(): DataVersions {
  let clock = 0;
  let changedAll = 0;
  let writers = 0;
  let writersOfAll = 0;
  const changed = new Map<string, number>();
  const writersOf = new Map<string, number>();

  function count(tables: readonly string[] | "all", by: 1 | -1): void {
    writers += by;
    if (tables === "all") writersOfAll += by;
    else for (const table of tables) writersOf.set(table, (writersOf.get(table) ?? 0) + by);
  }

  return {
    now: () => clock,
    unchangedSince(moment, tables) {
      if (clock === moment && writers === 0) return true;
      if (changedAll > moment || writersOfAll > 0) return false;
      return tables.every((table) => (changed.get(table) ?? 0) <= moment && (writersOf.get(table) ?? 0) === 0);
    },
    quietSince: (moment) => clock === moment && writers === 0,
    writing(tables) {
      count(tables, 1);
      return () => {
        clock++;
        if (tables === "all") changedAll = clock;
        else for (const table of tables) changed.set(table, clock);
        count(tables, -1);
      };
    },
  };
}
