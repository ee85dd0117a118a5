import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import { RequestFailure } from "../../../failure.ts";
import type { Mask } from "../../../secrets.ts";
import { splitStatements } from "../../../sql/whole-tokens.ts";
import type { ConnectionDefinition, OpenOptions } from "../../embedded-engine.ts";
import { type Cancellation, NEVER_CANCELLED, waitUnlessCancelled } from "../../queue/cancellation.ts";
import type { Slots } from "../../queue/slots.ts";
import { duckdbDialect } from "../dialect.ts";
import { withoutSql } from "../messages.ts";
import { extractStatements } from "../session/extract-statements.ts";
import { INTERRUPT_INTERVAL_MS } from "../session/interrupt.ts";
import { remoteLiteralMacros } from "../session/macros.ts";
import { type SessionSettings, withScope } from "../session/session-settings.ts";
import type { ConfigurationLock } from "./configuration-lock.ts";
import { attachOrCopy } from "./locked-files.ts";
import type { ServerCatalogs } from "./server-catalogs.ts";
import type { ServerSettings } from "./server-settings.ts";

/** The configured connections: each runs its `init` once, before its first use. */
export interface DuckDbConnections {
  /** Rejects with a `connection-down` failure; the next use tries again. */
  open(name: string): Promise<void>;
  /** Undefined when all are open already: the common case creates no promise. */
  openAll(names: readonly string[], cancellation: Cancellation): Promise<void> | undefined;
  /** Whether no `init` is running. */
  isIdle(): boolean;
  /** Interrupts every running `init`. */
  stop(): Promise<void>;
  definitionsOf(names: readonly string[]): readonly ConnectionDefinition[];
}

export interface DuckDbConnectionsOptions extends Pick<OpenOptions, "copyLocked"> {
  readonly configuration: ConfigurationLock;
  readonly database: duckdb.Database;
  readonly definitions: readonly ConnectionDefinition[];
  readonly settings: SessionSettings;
  readonly serverSettings: ServerSettings;
  readonly servers: Pick<ServerCatalogs, "use">;
  readonly mask: Mask;
  /** Makes a message of DuckDB about a statement easier to understand. */
  readonly explain: (message: string, sql: string | undefined) => Promise<string>;
  /** Not the query slots, because an `init` may wait long for a server. */
  readonly slots: Slots;
  /** Called when an `init` starts, which may change any table, view or macro. The returned function is called when it ends. */
  readonly onOpening: () => () => void;
  /** Called when an `init` has run. */
  readonly onOpened?: () => Promise<void>;
}

interface ConnectionState {
  readonly definition: ConnectionDefinition;
  /** How many statements of `init` are done. A retry continues from there: a second ATTACH would fail. */
  done: number;
  state: "closed" | Promise<void> | "open";
  /** The DuckDB connection of its `init`, while that runs. */
  native: duckdb.Connection | undefined;
}

export function openDuckDbConnections({
  configuration,
  database,
  definitions,
  copyLocked,
  settings,
  serverSettings,
  servers,
  mask,
  explain,
  slots,
  onOpening,
  onOpened,
}: DuckDbConnectionsOptions): DuckDbConnections {
  const connections = new Map<string, ConnectionState>(
    definitions.map((definition) => [
      definition.name,
      { definition, done: 0, state: definition.init === undefined ? "open" : "closed", native: undefined },
    ]),
  );

  function connectionOf(name: string): ConnectionState {
    const connection = connections.get(name);
    if (connection === undefined) throw new Error(`The engine was opened without a connection named '${name}'.`);
    return connection;
  }

  /** One attempt at a time: concurrent callers wait for the same one. */
  async function open(name: string): Promise<void> {
    const connection = connectionOf(name);
    if (connection.state === "open") return;
    if (connection.state === "closed") connection.state = attempt(connection);
    await connection.state;
  }

  async function attempt(connection: ConnectionState): Promise<void> {
    const request = slots.request({ connections: [] });
    await slots.reenter(request, NEVER_CANCELLED);
    const endOpening = onOpening();
    try {
      await configuration.runTrusted(() => runInit(connection), connection.definition.name);
      await onOpened?.();
      connection.state = "open";
    } catch (error) {
      connection.state = "closed";
      const { name, init = "" } = connection.definition;
      const failed = splitStatements(init, duckdbDialect)[connection.done];
      const cause = new Error(mask(await explain(withoutSql(errorMessage(error)), failed)));
      throw new RequestFailure({ kind: "connection-down", connection: name }, { cause });
    } finally {
      slots.leave(request);
      endOpening();
    }
  }

  async function runInit(connection: ConnectionState): Promise<void> {
    const sql = connection.definition.init ?? "";
    const native = await duckdb.connect(database);
    connection.native = native;
    try {
      await settings.applyProjectSettings(native);
      // Macros that an `init` creates may quote values for another database.
      if (/sql_literal/i.test(sql)) await duckdb.query(native, remoteLiteralMacros);
      // One by one: some PRAGMAs (create_fts_index) are expanded when they are parsed, and need what earlier statements created.
      const statements = splitStatements(sql, duckdbDialect);
      let transactionFrom: number | undefined;
      for (let index = connection.done; index < statements.length; index++) {
        const statement = withScope(statements[index] ?? "");
        const run = (): Promise<duckdb.StatementType | undefined> => runStatement(native, statement);
        const type = await (ONLY_ATTACHES.test(statement) ? run() : servers.use(run));
        if (type === duckdb.StatementType.TRANSACTION)
          transactionFrom = transactionFrom === undefined ? index : undefined;
        // What a transaction has not committed is lost with the connection, and must run again.
        connection.done = transactionFrom ?? index + 1;
      }
    } catch (error) {
      // Otherwise, a transaction of the `init` would stay open as long as any object still refers to the connection.
      await duckdb.query(native, "ROLLBACK").catch(() => {});
      throw error;
    } finally {
      connection.native = undefined;
      duckdb.disconnect_sync(native);
    }
  }

  /** Runs one statement, or those that DuckDB expands it into. Returns the type of the last one. */
  function runStatement(native: duckdb.Connection, sql: string): Promise<duckdb.StatementType | undefined> {
    return attachOrCopy(sql, (text) => runAsWritten(native, text), { copyLocked });
  }

  async function runAsWritten(native: duckdb.Connection, sql: string): Promise<duckdb.StatementType | undefined> {
    const statements = await extractStatements(native, sql);
    let type: duckdb.StatementType | undefined;
    for (let index = 0; index < statements.count; index++) {
      const statement = await statements.prepare(index);
      type = duckdb.prepared_statement_type(statement);
      if (type === duckdb.StatementType.ATTACH) await serverSettings.apply(native, sql);
      await duckdb.execute_prepared(statement);
      duckdb.destroy_prepare_sync(statement);
      if (type === duckdb.StatementType.SET) settings.add(sql, index);
    }
    return type;
  }

  /** An `init` that waits for an unresponsive server cannot be interrupted: Eider waits only briefly. */
  async function stop(): Promise<void> {
    const deadline = performance.now() + STOP_WITHIN_MS;
    while (runningInits().length > 0 && performance.now() < deadline) {
      for (const { native } of runningInits()) if (native !== undefined) duckdb.interrupt(native);
      await new Promise((resolve) => setTimeout(resolve, INTERRUPT_INTERVAL_MS));
    }
  }

  function runningInits(): readonly ConnectionState[] {
    return [...connections.values()].filter((connection) => typeof connection.state !== "string");
  }

  return {
    open,
    openAll(names, cancellation) {
      if (names.every((name) => connectionOf(name).state === "open")) return undefined;
      return waitUnlessCancelled(
        cancellation,
        Promise.all(names.map(open)).then(() => {}),
      );
    },
    isIdle: () => runningInits().length === 0,
    stop,
    definitionsOf: (names) => names.map((name) => connectionOf(name).definition),
  };
}

const STOP_WITHIN_MS = 250;

/** It may wait long for its server. That of a DuckLake looks up tables of its catalog. */
const ONLY_ATTACHES = /^\s*attach\b(?!.*ducklake)/is;
