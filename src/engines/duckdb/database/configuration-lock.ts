import duckdb from "@duckdb/node-bindings";
import { settingsNamed } from "../../../sql/privileged-actions.ts";
import { quoteLiteral } from "../../../sql/quote.ts";
import type { ConnectionDefinition } from "../../engine.ts";
import { duckdbDialect } from "../dialect.ts";
import type { SessionSettings } from "../session/session-settings.ts";
import { withConnection } from "../session/with-connection.ts";

/**
 * After startup, keeps queries from changing DuckDB's settings and from installing extensions. An `init` whose data source was
 * down at startup may still do both.
 */
export interface ConfigurationLock {
  /** `settable` are the settings that templates may change. A second call does nothing. */
  lock(settable: readonly string[]): Promise<void>;
  /** Runs trusted work, such as the `init` of the named connection: DuckDB may install extensions meanwhile. */
  during<T>(work: () => Promise<T>, name?: string): Promise<T>;
}

export interface LockOptions {
  readonly database: duckdb.Database;
  readonly definitions: readonly ConnectionDefinition[];
  readonly settings: SessionSettings;
  /** The project's own settings, by their names in lower case. */
  readonly own: ReadonlyMap<string, string>;
}

/** Settings that DuckDB itself changes around some statements (a table from a PIVOT), and the one that `during` changes. */
const ALWAYS_SETTABLE: readonly string[] = ["current_transaction_invalidation_policy", "autoinstall_known_extensions"];

export function configurationLock({ database, definitions, settings, own }: LockOptions): ConfigurationLock {
  const waiting = new Set(definitions.flatMap(({ name, init }) => (init === undefined ? [] : name)));
  let settable: readonly string[] | undefined;
  let isLocked = false;
  let working = 0;
  /** Updates run one at a time: the last one must win. */
  let turned = Promise.resolve();

  function turn(): Promise<void> {
    turned = turned.then(() => withConnection(database, settle)).catch(() => {});
    return turned;
  }

  async function settle(connection: duckdb.Connection): Promise<void> {
    if (settable === undefined) return;
    if (!own.has("autoinstall_known_extensions")) {
      // Fails where the project has locked the configuration itself.
      await isSet(connection, `autoinstall_known_extensions = ${working > 0}`);
    }
    if (isLocked || own.has("lock_configuration")) return;
    const refused: string[] = [];
    for (const name of settableNames()) {
      const appended = `list_append(current_setting('allowed_configs'), ${quoteLiteral(name)})`;
      if (!(await isSet(connection, `allowed_configs = ${appended}`))) refused.push(name);
    }
    // An option of an extension that is not loaded yet cannot be added to allowed_configs.
    if (refused.length > 0 && waiting.size > 0) return;
    isLocked = await isSet(connection, "lock_configuration = true");
  }

  /** Session settings, those that any `init` changes, and those that templates may change. */
  function settableNames(): ReadonlySet<string> {
    const texts = [...settings.texts(), ...definitions.flatMap(({ init }) => init ?? [])];
    const named = texts.flatMap((text) => settingsNamed(text, duckdbDialect));
    return new Set([...ALWAYS_SETTABLE, ...named, ...(settable ?? [])]);
  }

  return {
    async lock(names) {
      settable ??= names;
      await turn();
    },
    async during(work, name) {
      working++;
      try {
        if (settable !== undefined) await turn();
        const done = await work();
        if (name !== undefined) waiting.delete(name);
        return done;
      } finally {
        working--;
        if (settable !== undefined) await turn();
      }
    },
  };
}

async function isSet(connection: duckdb.Connection, assignment: string): Promise<boolean> {
  return duckdb.query(connection, `SET GLOBAL ${assignment}`).then(
    () => true,
    () => false,
  );
}
