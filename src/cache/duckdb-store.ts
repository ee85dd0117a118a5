import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import type { Engines } from "../engines/engines.ts";
import { RequestFailure } from "../failure.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import { type Statement, statement } from "../sql/statement.ts";
import type { CacheName, Snapshot } from "./cache.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import { withRowsOf } from "./staged-query.ts";
import { measureTable } from "./store-bytes.ts";
import { isAuditTable, openLayout } from "./store-layout.ts";
import { clearLeftovers } from "./store-leftovers.ts";
import { openStoredMarks } from "./store-marks.ts";
import { foldName, isResult, isWrittenByTemplate, resultTable, tableIn } from "./store-names.ts";
import { outdatedCaches } from "./store-outdated.ts";
import {
  allSnapshots,
  currentAmong,
  deleteOldRecords,
  deleteSnapshot,
  insertRecord,
  newestRecords,
} from "./store-records.ts";
import { openRefresher } from "./store-refresh.ts";
import { fillTable, withoutParallelWrites } from "./store-rows.ts";
import { openSpaceReclaimer, storageOf } from "./store-space.ts";
import { inReadTransaction, inTransaction } from "./store-sql.ts";

export { ForeignCacheError } from "./store-layout.ts";

export interface SnapshotStoreOptions {
  readonly now: () => number;
  /** Returns a UUID. */
  readonly randomId: () => string;
  /** The name under which the cache database is attached. */
  readonly catalog?: string;
  /** The engine that runs the queries of these connections. By default, the one that holds the store. */
  readonly engineOf?: Engines["engineOf"];
  /** Whether a connection is open. `outdated` compares the columns of a cache only if all connections of its query are open. By default, all count as open. */
  readonly isOpen?: (connection: string) => boolean;
  /** Whether the database is in memory, and so is lost when the process ends. */
  readonly inMemory?: boolean;
  /** Set when other processes share the database: their tables are not dropped, and their refreshes may conflict. */
  readonly shared?:
    | {
        /** Statements for the start of each refresh transaction; see `Leadership.fence`. */
        readonly fence: () => readonly Statement[];
      }
    | undefined;
}

const KEPT_RECORDS = 10_000;
/** Old records are deleted after this many new ones. */
const RECORDS_BETWEEN_DELETIONS = 1_000;

/** Stores snapshots as tables of an attached database. Rejects with a ForeignCacheError if that is not a cache, or one of another version of Eider. */
export async function openSnapshotStore(engine: EmbeddedEngine, options: SnapshotStoreOptions): Promise<SnapshotStore> {
  const { now, randomId, catalog = "cache", isOpen = () => true, inMemory = false, shared } = options;
  const { engineOf = () => engine } = options;
  await openLayout(engine, catalog);
  if (shared === undefined) await clearLeftovers(engine, catalog).catch(() => {});
  const refreshCache = openRefresher(engine, { now, randomId, catalog, engineOf, fence: shared?.fence });
  const storage = await storageOf(engine, catalog);
  const reclaimSpace = openSpaceReclaimer(engine, catalog, storage);
  const schemas = new Map<string, Promise<unknown>>();
  // Starts at 1, so that the first new record also triggers the deletion of old records from an earlier process.
  let recordsUntilDeletion = 1;

  /** Creates each schema once, because two transactions that create the same schema would conflict. */
  function ensureSchema({ schema }: CacheName): Promise<unknown> {
    const existing = schemas.get(foldName(schema));
    if (existing !== undefined) return existing;
    const sql = `CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(catalog)}.${quoteIdentifier(schema)}`;
    const creation = inTransaction(engine, [schema], (run) => run(statement(sql))).catch((error: unknown) => {
      schemas.delete(foldName(schema));
      throw error;
    });
    schemas.set(foldName(schema), creation);
    return creation;
  }

  async function prepareCache(name: CacheName): Promise<void> {
    if (isAuditTable(name)) {
      const message = `The cache name ${name.schema}.${name.table} is reserved for a table of Eider. Choose another name.`;
      throw new RequestFailure({ kind: "query-failed", message });
    }
    await ensureSchema(name);
  }

  async function deleteOldRecordsIfDue(): Promise<void> {
    recordsUntilDeletion--;
    if (recordsUntilDeletion > 0) return;
    recordsUntilDeletion = RECORDS_BETWEEN_DELETIONS;
    await inTransaction(engine, ["refreshes"], (run) => run(deleteOldRecords(catalog, KEPT_RECORDS))).catch(() => {});
  }

  return {
    load: () => inReadTransaction(engine, (run) => allSnapshots(run, catalog)),

    outdated: (definitions) => outdatedCaches(engine, { catalog, definitions, isOpen, engineOf }),

    marks: inMemory ? undefined : openStoredMarks(engine, { catalog, now, randomId }),

    async refresh(definition, previous, signal) {
      await prepareCache(definition.name);
      const snapshot = await refreshCache(definition, previous, signal);
      if (previous !== undefined && isWrittenByTemplate(snapshot)) await reclaimSpace(previous.rows);
      await deleteOldRecordsIfDue();
      return snapshot;
    },

    async materialize({ name, connections, statements }, signal) {
      await prepareCache(name);
      const physicalTable = resultTable(name, randomId);
      const target = tableIn(catalog, name.schema, physicalTable);
      const createdAtMs = now();
      const owner = engineOf(connections);
      const source = owner === engine ? undefined : owner;
      const local = source === undefined ? connections : [];
      const size = await engine.change({ connections: local, touches: [physicalTable], signal }, async (run, stage) => {
        const filling = {
          mode: { kind: "full" },
          target,
          stage: quoteIdentifier(physicalTable),
          base: undefined,
        } as const;
        await withRowsOf({ connections, statements, signal }, { source, run, stage }, (found) =>
          fillTable(run, storage === "ducklake" ? found.map(withoutParallelWrites) : found, filling),
        );
        return await measureTable(run, target);
      });
      return { name, id: 1, uid: randomId(), physicalTable, createdAtMs, ...size };
    },

    async drop(snapshots) {
      if (snapshots.length === 0) return;
      // Never drop a table that the cache's own template writes to.
      const tables = snapshots.filter((snapshot) => !isWrittenByTemplate(snapshot));
      const recordedUids = snapshots.filter(({ physicalTable }) => !isResult(physicalTable)).map(({ uid }) => uid);
      const touches = [
        ...tables.map(({ physicalTable }) => physicalTable),
        ...(recordedUids.length > 0 ? ["snapshots"] : []),
      ];
      await inTransaction(engine, touches, async (run) => {
        const [current] = await currentAmong(run, catalog, recordedUids);
        if (current !== undefined)
          throw new Error(currentSnapshotMessage(snapshots.find(({ uid }) => uid === current)));
        for (const { name, physicalTable } of tables) {
          await run(statement(`DROP TABLE IF EXISTS ${tableIn(catalog, name.schema, physicalTable)}`));
        }
        for (const uid of recordedUids) await run(deleteSnapshot(catalog, uid));
      });
      await reclaimSpace(tables.reduce((sum, { rows }) => sum + rows, 0));
    },

    async recordFailure(record) {
      await inTransaction(engine, ["refreshes"], (run) => run(insertRecord(catalog, record))).catch(() => {});
      await deleteOldRecordsIfDue();
    },

    records: (limit) => inReadTransaction(engine, (run) => newestRecords(run, catalog, limit)),
  };
}

function currentSnapshotMessage(snapshot: Snapshot | undefined): string {
  const { id, name } = snapshot ?? {};
  return `cannot drop snapshot ${id} of the cache ${name?.schema}.${name?.table}: it is the current one`;
}
