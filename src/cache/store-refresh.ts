import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import type { StopSignal } from "../engines/engine.ts";
import type { Engines } from "../engines/engines.ts";
import { RequestFailure } from "../failure.ts";
import { changedName } from "../sql/classify.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import { type Statement, statement } from "../sql/statement.ts";
import type { CacheDefinition, RefreshRecord, RefreshStatements, RefreshVariables, Snapshot } from "./cache.ts";
import { type Cursor, finiteCursor } from "./cursor.ts";
import { definitionText } from "./definition-text.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import { withRowsOf } from "./staged-query.ts";
import { foldName, isWrittenByTemplate, snapshotTable, sqlSpellings, tableIn } from "./store-names.ts";
import {
  type CurrentSnapshot,
  currentSnapshot,
  deleteSnapshotsIn,
  insertRecord,
  insertSnapshot,
} from "./store-records.ts";
import { ColumnsChanged, columnType, fillTable, type TableFill } from "./store-rows.ts";
import { columnsIfExists, databaseMessage, inReadTransaction, type Run } from "./store-sql.ts";

export interface RefresherOptions {
  readonly now: () => number;
  /** Returns a UUID. */
  readonly randomId: () => string;
  readonly catalog: string;
  /** The engine that runs the queries of these connections. */
  readonly engineOf: Engines["engineOf"];
  /** Statements for the start of a refresh, which fail if this process must not refresh. */
  readonly fence?: (() => readonly Statement[]) | undefined;
}

/** Another process has refreshed the cache meanwhile. */
class Overtaken extends Error {}

const MAX_TRIES = 5;

export function openRefresher(engine: EmbeddedEngine, options: RefresherOptions): SnapshotStore["refresh"] {
  const { catalog, now, randomId, engineOf, fence = () => [] } = options;

  function planRefresh(definition: CacheDefinition, before: CurrentState): RefreshPlan {
    const startedAtMs = now();
    const id = (before.current?.id ?? 0) + 1;
    return { definition, before, startedAtMs, id, ...renderFor(definition, before, { id, startedAtMs }) };
  }

  function attempt(plan: RefreshPlan, signal: StopSignal): Promise<Snapshot> {
    const { definition, before, id, statements, startedAtMs } = plan;
    const { name, connections, mode } = definition;
    const isOwn = statements.kind === "own";
    const physicalTable = isOwn ? name.table : snapshotTable(name, id, randomId);
    const changedNames = isOwn
      ? statements.statements.flatMap(({ sql }) => changedName(sql, engine.dialect)?.at(-1) ?? [])
      : [];
    const touches = sqlSpellings(
      name.table,
      physicalTable,
      // Queries that use the view depend on this table.
      ...(before.current === undefined ? [] : [before.current.physicalTable]),
      ...changedNames,
      "snapshots",
      "refreshes",
    );
    // Called once, not per retry: so the retry of a process that was suspended fails.
    const fences = fence();
    const owner = engineOf(connections);
    const source = owner === engine ? undefined : owner;
    const local = source === undefined ? connections : [];
    return engine.change({ connections: local, touches, signal }, async (run, stage) => {
      for (const each of fences) await run(each);
      const known = await currentSnapshot(run, catalog, { name, definition: before.text });
      if (known?.id !== before.current?.id) throw new Overtaken();
      const target = tableIn(catalog, name.schema, physicalTable);
      if (isOwn) await changeOwnTable(run, catalog, plan);
      else {
        const query = { connections, statements: statements.statements, signal };
        await withRowsOf(query, { source, run, stage }, (found) =>
          fillSnapshot(run, catalog, { plan, statements: found, target, physicalTable }),
        );
      }
      const rows = await countRows(run, target);
      const snapshot = { name, id, uid: randomId(), physicalTable, createdAtMs: startedAtMs, rows, bytes: 0 };
      await run(insertSnapshot(catalog, snapshot, before.text));
      await run(insertRecord(catalog, recordOf(snapshot, mode.kind, now() - startedAtMs)));
      return snapshot;
    });
  }

  return async (definition, previous, signal) => {
    const text = definitionText(definition);
    let rebuild = previous === undefined;
    for (let tries = 1; ; tries++) {
      const found = await inReadTransaction(engine, (run) => findState(run, catalog, { definition, text }), signal);
      const before = rebuild ? withoutBase(found) : found;
      try {
        return await attempt(planRefresh(definition, before), signal);
      } catch (error) {
        if (error instanceof ColumnsChanged) rebuild = true;
        else if (!(error instanceof Overtaken)) throw error;
        if (tries === MAX_TRIES) throw new RequestFailure({ kind: "conflict" }, { cause: error });
      }
    }
  };
}

/** The state of a cache before a refresh. */
interface CurrentState {
  /** Identifies the definition. */
  readonly text: string;
  readonly current: CurrentSnapshot | undefined;
  /** The current snapshot, when the new rows can be added to it. */
  readonly base: Base | undefined;
}

interface Base extends NonNullable<TableFill["base"]> {
  readonly id: number;
  /** The largest cursor value, as DuckDB formats it. */
  readonly largestCursor: string | undefined;
  /** Whether the template itself changes the table. */
  readonly isOwn: boolean;
}

/** A planned refresh. Nothing is changed yet. */
interface RefreshPlan {
  readonly definition: CacheDefinition;
  readonly before: CurrentState;
  readonly startedAtMs: number;
  readonly id: number;
  readonly statements: RefreshStatements;
  readonly base: Base | undefined;
}

async function findState(
  run: Run,
  catalog: string,
  { definition, text }: { readonly definition: CacheDefinition; readonly text: string },
): Promise<CurrentState> {
  const { name, mode } = definition;
  const current = await currentSnapshot(run, catalog, { name, definition: text });
  if (current === undefined) return { text, current, base: undefined };
  const { id, physicalTable, matchesDefinition } = current;
  const isOwn = isWrittenByTemplate({ name, physicalTable });
  // A template that changes its own table handles existing rows itself.
  if (!matchesDefinition && !isOwn) return { text, current, base: undefined };
  const table = tableIn(catalog, name.schema, physicalTable);
  try {
    const columns = await columnsIfExists(run, table);
    if (columns === undefined) return { text, current, base: undefined };
    const largestCursor =
      mode.kind === "full" ? undefined : await findLargestCursor(run, { table, columns, cursor: mode });
    return { text, current, base: { id, table, columns, largestCursor, isOwn } };
  } catch (error) {
    // Unreadable: rebuild all rows.
    if (databaseMessage(error) === undefined) throw error;
    return { text, current, base: undefined };
  }
}

/** Without a base, all rows are rebuilt. A table that the template itself changes stays the base. */
function withoutBase(found: CurrentState): CurrentState {
  return found.base?.isOwn === true ? found : { ...found, base: undefined };
}

/** The largest cursor value in a table. Infinite values do not count. */
async function findLargestCursor(
  run: Run,
  { table, columns, cursor }: Pick<Base, "table" | "columns"> & { readonly cursor: Cursor },
): Promise<string | undefined> {
  if (!columns.some(({ name }) => foldName(name) === foldName(cursor.cursor))) return undefined;
  const compared = finiteCursor(cursor, columnType(columns, cursor.cursor));
  const [[value] = []] = await run(
    statement(`SELECT arg_max(${quoteIdentifier(cursor.cursor)}, ${compared})::VARCHAR FROM ${table}`),
  );
  return value ?? undefined;
}

/** Renders the template for the current state. Switching to or from a template that changes its own table rebuilds all rows. */
function renderFor(
  { render }: CacheDefinition,
  { base }: CurrentState,
  { id, startedAtMs }: { readonly id: number; readonly startedAtMs: number },
): { readonly statements: RefreshStatements; readonly base: Base | undefined } {
  const first: RefreshVariables = {
    snapshotId: id,
    snapshotTimestamp: new Date(startedAtMs).toISOString(),
    previousSnapshotId: undefined,
    previousSnapshotTimestamp: undefined,
  };
  if (base !== undefined) {
    const statements = render({ ...first, previousSnapshotId: base.id, previousSnapshotTimestamp: base.largestCursor });
    if ((statements.kind === "own") === base.isOwn) return { statements, base };
  }
  return { statements: render(first), base: undefined };
}

async function changeOwnTable(
  run: Run,
  catalog: string,
  { definition, before, statements }: RefreshPlan,
): Promise<void> {
  const { name } = definition;
  if (before.current !== undefined && !isWrittenByTemplate({ name, ...before.current })) {
    await run(statement(`DROP VIEW IF EXISTS ${tableIn(catalog, name.schema, name.table)}`));
  }
  for (const each of statements.statements) await run(each);
  await run(deleteSnapshotsIn(catalog, name, name.table));
}

async function fillSnapshot(
  run: Run,
  catalog: string,
  filling: {
    readonly plan: RefreshPlan;
    readonly statements: readonly Statement[];
    readonly target: string;
    readonly physicalTable: string;
  },
): Promise<void> {
  const { definition, before, base } = filling.plan;
  const { name, mode } = definition;
  const { target } = filling;
  await fillTable(run, filling.statements, { mode, target, stage: quoteIdentifier(filling.physicalTable), base });
  const view = tableIn(catalog, name.schema, name.table);
  if (before.current !== undefined && isWrittenByTemplate({ name, ...before.current })) {
    await run(statement(`DROP TABLE IF EXISTS ${view}`));
    await run(deleteSnapshotsIn(catalog, name, name.table));
  }
  await run(statement(`CREATE OR REPLACE VIEW ${view} AS SELECT * FROM ${target}`));
}

function recordOf(snapshot: Snapshot, mode: RefreshRecord["mode"], durationMs: number): RefreshRecord {
  const { name, id, rows, createdAtMs } = snapshot;
  return { name, mode, status: "ok", message: undefined, rows, snapshot: id, startedAtMs: createdAtMs, durationMs };
}

async function countRows(run: Run, table: string): Promise<number> {
  const [[rows] = []] = await run(statement(`SELECT count(*)::VARCHAR FROM ${table}`));
  return Number(rows);
}
