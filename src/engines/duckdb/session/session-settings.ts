import duckdb from "@duckdb/node-bindings";
import { extractStatements } from "./extract-statements.ts";

/**
 * `SET` and `USE` change only the connection that runs them, but the author of an `init` means every query of the
 * service. So they are recorded here and repeated on each connection of the pool.
 */
export interface SessionSettings {
  /** Statement `index` of the text `sql`. */
  add(sql: string, index: number): void;
  count(): number;
  /** The texts that were added. */
  texts(): readonly string[];
  /** Runs the settings from index `from` on. Returns how many have run in total. */
  apply(connection: duckdb.Connection, from: number): Promise<number>;
}

export function sessionSettings(): SessionSettings {
  const settings: { readonly sql: string; readonly index: number }[] = [];
  return {
    add(sql, index) {
      settings.push({ sql, index });
    },
    count: () => settings.length,
    texts: () => settings.map(({ sql }) => sql),
    async apply(connection, from) {
      const upTo = settings.length;
      for (const { sql, index } of settings.slice(from, upTo)) {
        try {
          const statement = await (await extractStatements(connection, sql)).prepare(index);
          await duckdb.execute_prepared(statement);
          duckdb.destroy_prepare_sync(statement);
        } catch {
          // It worked in the `init`. Here it may be too late (`SET lock_configuration` came after it), but
          // then the global setting applies anyway: no reason to reject every query.
        }
      }
      return upTo;
    },
  };
}
