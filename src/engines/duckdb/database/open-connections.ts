import duckdb from "@duckdb/node-bindings";
import { RequestFailure } from "../../../failure.ts";
import type { Mask } from "../../../secrets.ts";
import { statementTexts } from "../../../sql/whole-tokens.ts";
import type { ConnectionDefinition } from "../../engine.ts";
import { duckdbDialect } from "../dialect.ts";
import { messageOf, withoutSql } from "../messages.ts";
import { remoteLiteralMacros } from "../plan/remote-literals.ts";
import { abandonable, type Cancellation, INTERRUPT_AGAIN_MS } from "../session/cancellation.ts";
import { extractStatements } from "../session/extract-statements.ts";
import type { SessionSettings } from "../session/session-settings.ts";
import type { Slots } from "../session/slots.ts";
import type { ConfigurationLock } from "./configuration-lock.ts";

/** The connections of the configuration: each runs its `init` once, before its first use. decisions.md 1 and 7. */
export interface DuckDbConnections {
  /** Rejects with a `connection-down` failure; the next use tries again. */
  open(name: string): Promise<void>;
  /** Undefined when all are open: the common case costs no promise. */
  openAll(names: readonly string[], cancellation: Cancellation): Promise<void> | undefined;
  /** No `init` runs. */
  idle(): boolean;
  /** Interrupts every `init` that runs. */
  stop(): Promise<void>;
  definitionsOf(names: readonly string[]): readonly ConnectionDefinition[];
}

export interface DuckDbConnectionsOptions {
  readonly configuration: ConfigurationLock;
  readonly database: duckdb.Database;
  readonly definitions: readonly ConnectionDefinition[];
  readonly settings: SessionSettings;
  readonly mask: Mask;
  /** An `init` may wait long for a server, so these are not the slots of the queries. */
  readonly slots: Slots;
  /** Called when an `init` begins, and what it returns when it has run: it may change any table, view or macro. */
  readonly opening: () => () => void;
  /** Called when an `init` has run. */
  readonly opened?: () => Promise<void>;
}

interface ConnectionState {
  readonly definition: ConnectionDefinition;
  /** Statements of `init` that are done. A later try goes on from there: an ATTACH that worked would fail the second time. */
  done: number;
  state: "closed" | Promise<void> | "open";
  /** What its `init` runs on, while it runs. */
  connection: duckdb.Connection | undefined;
}

export function openDuckDbConnections({
  configuration,
  database,
  definitions,
  settings,
  mask,
  slots,
  opening,
  opened: hasOpened,
}: DuckDbConnectionsOptions): DuckDbConnections {
  const sources = new Map<string, ConnectionState>(
    definitions.map((definition) => [
      definition.name,
      { definition, done: 0, state: definition.init === undefined ? "open" : "closed", connection: undefined },
    ]),
  );

  function sourceOf(name: string): ConnectionState {
    const source = sources.get(name);
    if (source === undefined) throw new Error(`The engine was opened without a connection named '${name}'.`);
    return source;
  }

  /** One try at a time: whoever comes meanwhile waits for the same one. */
  async function open(name: string): Promise<void> {
    const source = sourceOf(name);
    if (source.state === "open") return;
    if (source.state === "closed") source.state = attempt(source);
    await source.state;
  }

  async function attempt(source: ConnectionState): Promise<void> {
    const seat = slots.seat(undefined, []);
    await slots.reenter(seat, NEVER_CANCELLED);
    const opened = opening();
    try {
      await configuration.during(() => runInit(source), source.definition.name);
      await hasOpened?.();
      source.state = "open";
    } catch (error) {
      source.state = "closed";
      const { name } = source.definition;
      const cause = new Error(mask(explained(withoutSql(messageOf(error)))));
      throw new RequestFailure({ kind: "connection-down", connection: name }, { cause });
    } finally {
      slots.leave(seat);
      opened();
    }
  }

  async function runInit(source: ConnectionState): Promise<void> {
    const sql = source.definition.init ?? "";
    const connection = await duckdb.connect(database);
    source.connection = connection;
    try {
      // Macros that an init makes may quote for another database.
      if (/sql_literal/i.test(sql)) await duckdb.query(connection, remoteLiteralMacros);
      // One by one: some PRAGMAs (create_fts_index) become other statements when they are parsed, and need what those before made.
      const texts = statementTexts(sql, duckdbDialect);
      let transactionFrom: number | undefined;
      for (let index = source.done; index < texts.length; index++) {
        const type = await runStatement(connection, texts[index] ?? "");
        if (type === duckdb.StatementType.TRANSACTION)
          transactionFrom = transactionFrom === undefined ? index : undefined;
        // What a transaction has not committed is gone with the connection and must be done again.
        source.done = transactionFrom ?? index + 1;
      }
    } catch (error) {
      // A transaction of the `init` would live on with the objects that still know the connection.
      await duckdb.query(connection, "ROLLBACK").catch(() => {});
      throw error;
    } finally {
      source.connection = undefined;
      duckdb.disconnect_sync(connection);
    }
  }

  /** Runs one statement, or those that DuckDB makes of it. The type is that of the last. */
  async function runStatement(connection: duckdb.Connection, sql: string): Promise<duckdb.StatementType | undefined> {
    const statements = await extractStatements(connection, sql);
    let type: duckdb.StatementType | undefined;
    for (let index = 0; index < statements.count; index++) {
      const statement = await statements.prepare(index);
      type = duckdb.prepared_statement_type(statement);
      await duckdb.execute_prepared(statement);
      duckdb.destroy_prepare_sync(statement);
      if (type === duckdb.StatementType.SET) settings.add(sql, index);
    }
    return type;
  }

  /** An `init` that hangs on a server which does not answer cannot be interrupted: nobody waits for it for long. */
  async function stop(): Promise<void> {
    const giveUp = performance.now() + STOP_WITHIN_MS;
    while (running().length > 0 && performance.now() < giveUp) {
      for (const { connection } of running()) if (connection !== undefined) duckdb.interrupt(connection);
      await new Promise((resolve) => setTimeout(resolve, INTERRUPT_AGAIN_MS));
    }
  }

  function running(): readonly ConnectionState[] {
    return [...sources.values()].filter((source) => typeof source.state !== "string");
  }

  return {
    open,
    openAll(names, cancellation) {
      if (names.every((name) => sourceOf(name).state === "open")) return undefined;
      return abandonable(
        cancellation,
        Promise.all(names.map(open)).then(() => {}),
      );
    },
    idle: () => running().length === 0,
    stop,
    definitionsOf: (names) => names.map((name) => sourceOf(name).definition),
  };
}

const STOP_WITHIN_MS = 250;

const NEVER_CANCELLED: Cancellation = { check() {}, listen() {}, cancel() {}, end() {} };

/** decisions.md 7: an extension that cannot be had gives a message that says so. */
function explained(message: string): string {
  return /(?:download|install|load)\w*(?: local)? extension|extension "?\S+"? (?:not found|could not)/i.test(message)
    ? `${message}\nPut the extension into the folder of duckdb.extension_directory, or let the service reach DuckDB's repository.`
    : message;
}
