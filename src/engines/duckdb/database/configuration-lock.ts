import duckdb from "@duckdb/node-bindings";
import { settingsChangedBy } from "../../../sql/privileged-actions.ts";
import { quoteLiteral } from "../../../sql/quote.ts";
import type { ConnectionDefinition } from "../../embedded-engine.ts";
import { duckdbDialect } from "../dialect.ts";
import type { SessionSettings } from "../session/session-settings.ts";
import { withConnection } from "../session/with-connection.ts";

/**
 * After startup, keeps queries from changing DuckDB's settings and from installing extensions. An `init` whose data source was
 * down at startup may still do both.
 */
export interface ConfigurationLock {
  /** `settable` are the settings that templates may change; those of a second call are ignored. */
  lock(settable: readonly string[]): Promise<void>;
  /** Runs trusted work, such as the `init` of the named connection: DuckDB may install extensions meanwhile. */
  runTrusted<T>(work: () => Promise<T>, name?: string): Promise<T>;
}

export interface LockOptions {
  readonly database: duckdb.Database;
  readonly definitions: readonly ConnectionDefinition[];
  readonly settings: SessionSettings;
  /** Eider sets these when an `init` attaches a server, which may be after startup. */
  readonly serverSettings: readonly string[];
  /** The settings that the database was opened with, by their names in lower case. */
  readonly configured: ReadonlyMap<string, string>;
}

/** Settings that DuckDB itself changes around some statements (a table from a PIVOT), and the one that `runTrusted` changes. */
const ALWAYS_SETTABLE: readonly string[] = ["current_transaction_invalidation_policy", "autoinstall_known_extensions"];

export function configurationLock(options: LockOptions): ConfigurationLock {
  const { database, definitions, settings, serverSettings, configured } = options;
  const pendingInits = new Set(definitions.flatMap(({ name, init }) => (init === undefined ? [] : name)));
  let settable: readonly string[] | undefined;
  let isLocked = false;
  let trustedRuns = 0;
  /** Updates run one at a time: the last one must win. */
  let lastUpdate = Promise.resolve();

  function update(): Promise<void> {
    lastUpdate = lastUpdate.then(() => withConnection(database, applyLock)).catch(() => {});
    return lastUpdate;
  }

  async function applyLock(connection: duckdb.Connection): Promise<void> {
    if (settable === undefined) return;
    if (!configured.has("autoinstall_known_extensions")) {
      // Fails where the project has locked the configuration itself.
      await trySet(connection, `autoinstall_known_extensions = ${trustedRuns > 0}`);
    }
    if (isLocked || configured.has("lock_configuration")) return;
    const rejected: string[] = [];
    for (const name of settableNames()) {
      const appended = `list_append(current_setting('allowed_configs'), ${quoteLiteral(name)})`;
      if (!(await trySet(connection, `allowed_configs = ${appended}`))) rejected.push(name);
    }
    // An option of an extension that is not loaded yet cannot be added to allowed_configs.
    if (rejected.length > 0 && pendingInits.size > 0) return;
    isLocked = await trySet(connection, "lock_configuration = true");
  }

  /** Session settings, those that any `init` changes, and those that templates may change. */
  function settableNames(): ReadonlySet<string> {
    const statements = [...settings.statements(), ...definitions.flatMap(({ init }) => init ?? [])];
    const named = statements.flatMap((sql) => settingsChangedBy(sql, duckdbDialect));
    return new Set([...ALWAYS_SETTABLE, ...serverSettings, ...named, ...(settable ?? [])]);
  }

  return {
    async lock(names) {
      settable ??= names;
      await update();
    },
    async runTrusted(work, name) {
      trustedRuns++;
      try {
        if (settable !== undefined) await update();
        const done = await work();
        if (name !== undefined) pendingInits.delete(name);
        return done;
      } finally {
        trustedRuns--;
        if (settable !== undefined) await update();
      }
    },
  };
}

async function trySet(connection: duckdb.Connection, assignment: string): Promise<boolean> {
  return duckdb.query(connection, `SET GLOBAL ${assignment}`).then(
    () => true,
    () => false,
  );
}
