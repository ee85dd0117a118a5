/**
 * When the tables of Eider's own database last changed. All changes go through this process, so rows that were
 * read stay valid until a write to their tables.
 */
export interface DataVersions {
  /** The current moment. Call it before the transaction starts. */
  now(): number;
  /** Whether the tables (by short names) are unchanged. False during a write to them: commits are visible before they return. */
  unchangedSince(moment: number, tables: readonly string[]): boolean;
  /** The last change of these tables, or of unknown ones. */
  lastChange(tables: readonly string[]): number;
  /** Whether no write can have changed the columns of a table. */
  schemaUnchangedSince(moment: number): boolean;
  /** Whether no table has changed since, and no write is running. */
  quietSince(moment: number): boolean;
  /**
   * Call it before a write to these tables commits (`all`: unknown tables), and the returned function after it. `changesSchema`:
   * it may also create, alter or drop tables and views.
   */
  beginWrite(tables: readonly string[] | "all", changesSchema?: boolean): () => void;
}

/**
 * A table by the last part of its name, in lower case: a statement may leave out the other parts. Tables of the same name in
 * two schemas count as one, which only invalidates more than necessary.
 */
export function shortName(table: string): string {
  const [, quoted, plain = ""] = /(?:"((?:[^"]|"")*)"|([^."]*))$/.exec(table) ?? [];
  return (quoted?.replaceAll('""', '"') ?? plain).toLowerCase();
}

export function dataVersions(): DataVersions {
  let clock = 0;
  let allChangedAt = 0;
  let writers = 0;
  let writersOfAll = 0;
  let schemaChangedAt = 0;
  let schemaWriters = 0;
  const changedAt = new Map<string, number>();
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
      if (allChangedAt > moment || writersOfAll > 0) return false;
      return tables.every((table) => (changedAt.get(table) ?? 0) <= moment && (writersOf.get(table) ?? 0) === 0);
    },
    lastChange: (tables) => Math.max(allChangedAt, ...tables.map((table) => changedAt.get(table) ?? 0)),
    schemaUnchangedSince: (moment) => schemaChangedAt <= moment && schemaWriters === 0,
    quietSince: (moment) => clock === moment && writers === 0,
    beginWrite(tables, changesSchema = tables === "all") {
      count(tables, 1);
      if (changesSchema) schemaWriters++;
      return () => {
        clock++;
        if (tables === "all") allChangedAt = clock;
        else for (const table of tables) changedAt.set(table, clock);
        count(tables, -1);
        if (!changesSchema) return;
        schemaChangedAt = clock;
        schemaWriters--;
      };
    },
  };
}

/** The returned function tells whether no write of unknown extent has happened since this call, such as a change of columns. */
export function watchUnknownWrites({ now, unchangedSince }: DataVersions): () => boolean {
  const moment = now();
  return () => unchangedSince(moment, []);
}
