import { type BoundValue, integerValue, type Statement, statement, textValue } from "../sql/statement.ts";
import type { CacheMode, CacheName, RefreshRecord, Snapshot } from "./cache.ts";
import { auditTable } from "./store-layout.ts";
import { equalStrings, type Run } from "./store-sql.ts";

/** The newest snapshot of a cache, from the audit tables. */
export interface CurrentSnapshot {
  readonly id: number;
  readonly physicalTable: string;
  /** Whether it was made by the same query in the same mode. */
  readonly matchesDefinition: boolean;
}

/** Selects the rows of the cache whose name is bound as $1 and $2. */
const HAS_NAME = `${equalStrings("lower(schema_name)", "lower($1)")} AND ${equalStrings("lower(table_name)", "lower($2)")}`;

/** `definition` is compared with a stored hash: queries may contain secrets. */
export async function currentSnapshot(
  run: Run,
  catalog: string,
  { name, definition }: { readonly name: CacheName; readonly definition: string },
): Promise<CurrentSnapshot | undefined> {
  const [row] = await run(
    statement(
      `SELECT snapshot_id::VARCHAR, physical_table, (definition = sha256($3))::VARCHAR
       FROM ${auditTable(catalog, "snapshots")} WHERE ${HAS_NAME} ORDER BY snapshot_id DESC NULLS LAST LIMIT 1`,
      ...nameValues(name),
      textValue(definition),
    ),
  );
  if (row === undefined) return undefined;
  const [id, physicalTable, matchesDefinition] = row;
  return { id: Number(id), physicalTable: physicalTable ?? "", matchesDefinition: matchesDefinition === "true" };
}

export function insertSnapshot(catalog: string, snapshot: Snapshot, definition: string): Statement {
  const { name, id, uid, physicalTable, createdAtMs, rows, bytes } = snapshot;
  return statement(
    `INSERT INTO ${auditTable(catalog, "snapshots")}
     VALUES ($1, $2, $3, $4, $5, epoch_ms($6::BIGINT), $7, $8, sha256($9))`,
    ...nameValues(name),
    integerValue(id),
    textValue(uid),
    textValue(physicalTable),
    integerValue(createdAtMs),
    integerValue(rows),
    integerValue(bytes),
    textValue(definition),
  );
}

/** Deletes the records of snapshots that were in this table: it holds other rows now, or is gone. */
export function deleteSnapshotsIn(catalog: string, name: CacheName, table: string): Statement {
  return statement(
    `DELETE FROM ${auditTable(catalog, "snapshots")} WHERE ${HAS_NAME}
     AND ${equalStrings("lower(physical_table)", "lower($3)")}`,
    ...nameValues(name),
    textValue(table),
  );
}

export function deleteSnapshot(catalog: string, uid: string): Statement {
  return statement(`DELETE FROM ${auditTable(catalog, "snapshots")} WHERE uid = $1`, textValue(uid));
}

/** Which of these snapshots are the current ones of their caches. */
export async function currentAmong(run: Run, catalog: string, uids: readonly string[]): Promise<readonly string[]> {
  if (uids.length === 0) return [];
  const snapshots = auditTable(catalog, "snapshots");
  const rows = await run(
    statement(
      `SELECT s.uid FROM ${snapshots} s WHERE s.uid IN (${uids.map((_, index) => `$${index + 1}`).join(", ")})
       AND s.snapshot_id = (SELECT max(o.snapshot_id) FROM ${snapshots} o
         WHERE ${equalStrings("lower(o.schema_name)", "lower(s.schema_name)")}
         AND ${equalStrings("lower(o.table_name)", "lower(s.table_name)")})`,
      ...uids.map(textValue),
    ),
  );
  return rows.map(([uid]) => uid ?? "");
}

/** Lists the snapshots of each cache together, the oldest first. */
export async function allSnapshots(run: Run, catalog: string): Promise<readonly Snapshot[]> {
  const rows = await run(
    statement(
      `SELECT schema_name, table_name, snapshot_id::VARCHAR, uid, physical_table, epoch_ms(created_at)::VARCHAR,
         "rows"::VARCHAR, bytes::VARCHAR
       FROM ${auditTable(catalog, "snapshots")} 
       ORDER BY lower(schema_name) ASC NULLS LAST, lower(table_name) ASC NULLS LAST, snapshot_id ASC NULLS LAST`,
    ),
  );
  return rows.map(([schema, table, id, uid, physicalTable, createdAtMs, count, bytes]) => ({
    name: { schema: schema ?? "", table: table ?? "" },
    id: Number(id),
    uid: uid ?? "",
    physicalTable: physicalTable ?? "",
    createdAtMs: Number(createdAtMs),
    rows: Number(count),
    bytes: Number(bytes),
  }));
}

const MAX_MESSAGE_LENGTH = 2_000;

export function insertRecord(catalog: string, record: RefreshRecord): Statement {
  const { name, mode, status, message, rows, snapshot, startedAtMs, durationMs } = record;
  return statement(
    `INSERT INTO ${auditTable(catalog, "refreshes")} VALUES ($1, $2, $3, $4, $5, $6, $7, epoch_ms($8::BIGINT), $9)`,
    ...nameValues(name),
    textValue(mode),
    textValue(status),
    textValue(message?.slice(0, MAX_MESSAGE_LENGTH)),
    integerValue(rows),
    integerValue(snapshot),
    integerValue(startedAtMs),
    integerValue(Math.max(0, durationMs)),
  );
}

/** The newest first. */
export async function newestRecords(run: Run, catalog: string, limit: number): Promise<readonly RefreshRecord[]> {
  const rows = await run(
    statement(
      `SELECT schema_name, table_name, mode, status, message, "rows"::VARCHAR, snapshot::VARCHAR,
         epoch_ms(started)::VARCHAR, duration_ms::VARCHAR
       FROM ${auditTable(catalog, "refreshes")} ORDER BY started DESC NULLS LAST, snapshot DESC NULLS LAST LIMIT $1`,
      integerValue(limit),
    ),
  );
  return rows.map(([schema, table, mode, status, message, count, snapshot, startedAtMs, durationMs]) => ({
    name: { schema: schema ?? "", table: table ?? "" },
    mode: modeOf(mode),
    status: status === "ok" ? "ok" : "error",
    message: message ?? undefined,
    rows: numberOf(count),
    snapshot: numberOf(snapshot),
    startedAtMs: Number(startedAtMs),
    durationMs: Number(durationMs),
  }));
}

/** Keeps about this many of the newest records: a cache that is refreshed each second would otherwise fill the disk. */
export function deleteOldRecords(catalog: string, kept: number): Statement {
  const refreshes = auditTable(catalog, "refreshes");
  return statement(
    `DELETE FROM ${refreshes} WHERE started <
       (SELECT min(started) FROM (SELECT started FROM ${refreshes} ORDER BY started DESC NULLS LAST LIMIT $1))`,
    integerValue(kept),
  );
}

function nameValues({ schema, table }: CacheName): readonly BoundValue[] {
  return [textValue(schema), textValue(table)];
}

function modeOf(mode: string | null | undefined): CacheMode["kind"] {
  return mode === "append" || mode === "merge" ? mode : "full";
}

function numberOf(value: string | null | undefined): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}
