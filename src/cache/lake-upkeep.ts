import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import type { Report } from "../events.ts";
import { quoteLiteral } from "../sql/quote.ts";
import { statement } from "../sql/statement.ts";
import { isShared, type Lake } from "./ducklake.ts";
import { inReadTransaction, inTransaction, type Run } from "./store-sql.ts";

/** Frees the space of dropped snapshots. Only the leader does this. */
export interface LakeUpkeep {
  /** Expires old versions of the catalog, and deletes the files that only they needed. Never rejects. */
  clean(): Promise<void>;
  /**
   * Deletes orphaned files of processes that were killed. Only on an explicit command, since a catalog considers every Parquet
   * file below its data path its own. Returns their number. Rejects when some were not written by DuckLake.
   */
  deleteOrphans(): Promise<number>;
}

export interface UpkeepOptions {
  readonly engine: EmbeddedEngine;
  readonly lake: Lake;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly report: Report;
}

/** A point in time after which every transaction sees at least this version of the catalog. */
interface Mark {
  readonly version: number;
  /** The clock of the catalog's server, in microseconds; 0 without a server. */
  readonly serverTime: number;
  readonly at: number;
}

const MAX_VERSIONS_AT_ONCE = 5_000;
/** Without a server, running reads are unknown. Eider assumes that none takes longer than this. */
const MAX_READ_MS = 15 * 60 * 1000;
const BLOCKED_TOO_LONG_MS = 60 * 60 * 1000;
const DEPENDENCY = "cache clean-up";
/** Newer files are not deleted: those of a running refresh are not in the catalog yet. */
const ORPHANED_FOR = "INTERVAL 1 DAY";
const LAKE_FILE = /(?:^|[/\\])ducklake-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-delete)?\.(?:parquet|puffin)$/;

/**
 * Versions older than a mark expire once no transaction from before the mark is running. Not earlier: DuckLake does not detect
 * conflicts with expired versions, and their files may still be read. docs/decisions/0009-ducklake.md
 */
export function openLakeUpkeep({ engine, lake, now, report }: UpkeepOptions): LakeUpkeep {
  const name = quoteLiteral(lake.catalog);
  const shared = isShared(lake);
  let mark: Mark | undefined;
  let isBlocked = false;
  let cleaning: Promise<void> | undefined;

  /** The catalog's current version, and the start of its oldest transaction. */
  async function observe(): Promise<{ readonly current: Mark; readonly busySince: number | undefined }> {
    // First the version, then the time: transactions after that time see that version.
    const version = Number(await selectValue(`SELECT id::VARCHAR FROM ducklake_current_snapshot(${name})`));
    if (!shared) return { current: { version, serverTime: 0, at: now() }, busySince: undefined };
    const micros = (time: string): string => `(extract(epoch FROM ${time}) * 1000000)::bigint::text`;
    const query = `SELECT ${micros("clock_timestamp()")} AS a, ${micros("min(xact_start)")} AS b FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;
    const server = quoteLiteral(`__ducklake_metadata_${lake.catalog}`);
    const [[time, oldest] = []] = await select(`SELECT a, b FROM postgres_query(${server}, ${quoteLiteral(query)})`);
    const current = { version, serverTime: Number(time), at: now() };
    return { current, busySince: oldest === null || oldest === undefined ? undefined : Number(oldest) };
  }

  function mayExpire({ serverTime, at }: Mark, busySince: number | undefined): boolean {
    if (!shared) return now() - at >= MAX_READ_MS;
    return busySince === undefined || busySince > serverTime;
  }

  async function cleanBefore({ version }: Mark): Promise<void> {
    const expired = await select(
      `SELECT snapshot_id::VARCHAR FROM ducklake_snapshots(${name}) WHERE snapshot_id < ${version}
       ORDER BY snapshot_id ASC NULLS LAST LIMIT ${MAX_VERSIONS_AT_ONCE}`,
    );
    if (expired.length > 0) {
      const versions = expired.map(([id]) => id).join(", ");
      await execute(`SELECT count(*)::VARCHAR FROM ducklake_expire_snapshots(${name}, versions => [${versions}])`);
    }
    // Only once the expiry is durable, since the files may be needed until then.
    await execute(`SELECT count(*)::VARCHAR FROM ducklake_cleanup_old_files(${name}, cleanup_all => true)`);
  }

  async function tryToClean(): Promise<void> {
    const { current, busySince } = await observe();
    if (mark !== undefined && !mayExpire(mark, busySince)) {
      if (!shared || isBlocked || now() - mark.at < BLOCKED_TOO_LONG_MS) return;
      isBlocked = true;
      const message = "a transaction has been open in the catalog's database for more than an hour";
      report({
        kind: "dependency-down",
        dependency: DEPENDENCY,
        message: `${message}; files of old snapshots stay until it ends`,
      });
      return;
    }
    if (mark !== undefined) await cleanBefore(mark);
    mark = current;
    if (isBlocked) report({ kind: "dependency-up", dependency: DEPENDENCY });
    isBlocked = false;
  }

  async function select(sql: string): ReturnType<Run> {
    return await inReadTransaction(engine, (run) => run(statement(sql)));
  }

  async function selectValue(sql: string): Promise<string | null | undefined> {
    const [[value] = []] = await select(sql);
    return value;
  }

  async function execute(sql: string): Promise<number> {
    const [[count] = []] = await inTransaction(engine, [], (run) => run(statement(sql)));
    return Number(count);
  }

  return {
    clean() {
      cleaning ??= tryToClean()
        // On failure, the next clean-up retries it.
        .catch(() => {})
        .finally(() => {
          cleaning = undefined;
        });
      return cleaning;
    },
    async deleteOrphans() {
      const orphans = (options: string): string =>
        `FROM ducklake_delete_orphaned_files(${name}, older_than => now() - ${ORPHANED_FOR}${options})`;
      const found = await select(`SELECT path ${orphans(", dry_run => true")}`);
      const foreign = found.find(([path]) => !LAKE_FILE.test(path ?? ""));
      if (foreign !== undefined) {
        throw new Error(
          `${foreign[0]} is in the data path of the cache, but DuckLake did not write it; nothing was deleted`,
        );
      }
      return found.length === 0 ? 0 : await execute(`SELECT count(*)::VARCHAR ${orphans("")}`);
    },
  };
}
