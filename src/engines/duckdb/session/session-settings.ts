import duckdb from "@duckdb/node-bindings";
import { extractStatements } from "./extract-statements.ts";

/**
 * `SET` and `USE` change only the connection that runs them, but the author of an `init` intends them for every query of
 * the service. So they are recorded here and repeated on each connection of the pool.
 */
export interface SessionSettings {
  /** Adds a setting of the project itself, which also applies while an `init` runs. */
  addProjectSetting(sql: string): void;
  /** Adds the statement at `index` in `sql`, unless it applies to the whole database. */
  add(sql: string, index: number): void;
  count(): number;
  /** The SQL strings that were added. */
  statements(): readonly string[];
  /** Runs the settings from index `from` on. Returns how many have run in total. */
  apply(connection: duckdb.Connection, from: number): Promise<number>;
  applyProjectSettings(connection: duckdb.Connection): Promise<void>;
}

/**
 * Settings that change what SQL means. They are set for each connection that runs SQL of the project, not for the whole
 * database: extensions such as DuckLake run SQL of their own on connections of their own.
 */
const CHANGES_MEANING =
  "default_order default_null_order default_collation old_implicit_casting integer_division order_by_non_integer_literal preserve_insertion_order";

export function changesMeaning(setting: string): boolean {
  return CHANGES_MEANING.split(" ").includes(setting.toLowerCase());
}

/** For Eider's own tables: their rows keep the order of the query that creates them. */
export const KEEP_ORDER = "SET SESSION preserve_insertion_order = true";

/** Whether one of these statements may change preserve_insertion_order. */
export function mayLoseOrder(statements: readonly string[]): boolean {
  return statements.some((sql) => /preserve_insertion_order/i.test(sql));
}

/** `SET`, perhaps after comments. */
const SET = /(?:\s|--.*\n|\/\*[\s\S]*?\*\/)*SET/.source;
const ASSIGNMENT = new RegExp(`^(${SET})(?:\\s+GLOBAL)?(\\s+"?)(\\w+)`, "i");
const GLOBAL_ASSIGNMENT = new RegExp(`^${SET}\\s+GLOBAL\\b`, "i");

/** Settings of the extensions that attach databases. To set one discards the catalogs, which queries may be using. */
const OF_ATTACHED_DATABASES = /^(?:pg|mysql|sqlite)_/i;

/**
 * Gives a `SET` in an `init` its scope: the session if it changes what SQL means, as it otherwise applies to the whole database;
 * the whole database if it is of an extension that attaches databases, as all sessions share their catalogs.
 */
export function withScope(sql: string): string {
  return sql.replace(ASSIGNMENT, (all, set: string, before: string, name: string) => {
    if (changesMeaning(name)) return `${set} SESSION${before}${name}`;
    return OF_ATTACHED_DATABASES.test(name) ? `${set} GLOBAL${before}${name}` : all;
  });
}

export function sessionSettings(): SessionSettings {
  const settings: { readonly sql: string; readonly index: number }[] = [];
  const projectSettings: string[] = [];
  return {
    addProjectSetting(sql) {
      settings.push({ sql, index: 0 });
      projectSettings.push(sql);
    },
    add(sql, index) {
      // A global setting holds for every connection. To repeat one of MySQL's extension crashes it if another query is being planned.
      if (!GLOBAL_ASSIGNMENT.test(sql)) settings.push({ sql, index });
    },
    count: () => settings.length,
    statements: () => settings.map(({ sql }) => sql),
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
    async applyProjectSettings(connection) {
      for (const sql of projectSettings) await duckdb.query(connection, sql);
    },
  };
}
