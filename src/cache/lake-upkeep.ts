import type { Engine } from "../engines/engine.ts";
import type { Report } from "../events.ts";
import { isShared, type Lake, literal } from "./ducklake.ts";
import { look, NEVER_STOPPED, type Run, statement } from "./store-sql.ts";

/** Gives back what dropped snapshots have taken up. Whoever leads does it, now and then. */
export interface LakeUpkeep {
  /** Forgets old versions of the catalog, and deletes the files that only they needed. Never rejects. */
  clean(): Promise<void>;
  /**
   * Deletes files that belong to nothing: what a process that was killed had written. Only for somebody who asks for it, since
   * a catalog takes every Parquet file below its data path for its own. Tells how many. Rejects when some are none of ours.
   */
  deleteOrphans(): Promise<number>;
}

export interface UpkeepOptions {
  readonly engine: Engine;
  readonly lake: Lake;
  /** Milliseconds by a clock that is never set. */
  readonly now: () => number;
  readonly report: Report;
}

/** A moment: everybody who begins later sees this version of the catalog, or a newer one. */
interface Mark {
  readonly version: number;
  /** Microseconds by the clock of the catalog's server; 0 where there is none. */
  readonly serverTime: number;
  readonly at: number;
}

const MOST_AT_ONCE = 5_000;
/** Without a server nobody can tell who reads: longer than that nobody does. */
const LONGEST_READ_MS = 15 * 60 * 1000;
const HELD_UP_MS = 60 * 60 * 1000;
const PART = "cache clean-up";
/** A refresh that still runs has written files that belong to nothing yet. */
const ORPHANED_FOR = "INTERVAL 1 DAY";
const OF_A_LAKE = /(?:^|[/\\])ducklake-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-delete)?\.(?:parquet|puffin)$/;

/**
 * Versions older than a mark go once nobody is at work who began before the mark. Not a moment earlier: DuckLake does not see
 * conflicts with versions that are gone, and files of theirs may still be read. docs/decisions/0009-ducklake.md
 */
export function openLakeUpkeep({ engine, lake, now, report }: UpkeepOptions): LakeUpkeep {
  const name = literal(lake.catalog);
  const shared = isShared(lake);
  let mark: Mark | undefined;
  let isHeldUp = false;
  let cleaning: Promise<void> | undefined;

  /** Where the catalog is now, and since when somebody has been at work. */
  async function observe(): Promise<{ readonly current: Mark; readonly busySince: number | undefined }> {
    // First the version, then the time: whoever begins after that time sees that version.
    const version = Number(await one(`SELECT id::VARCHAR FROM ducklake_current_snapshot(${name})`));
    if (!shared) return { current: { version, serverTime: 0, at: now() }, busySince: undefined };
    const micros = (time: string): string => `(extract(epoch FROM ${time}) * 1000000)::bigint::text`;
    const query = `SELECT ${micros("clock_timestamp()")} AS a, ${micros("min(xact_start)")} AS b FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;
    const server = literal(`__ducklake_metadata_${lake.catalog}`);
    const [[time, oldest] = []] = await ask(`SELECT a, b FROM postgres_query(${server}, ${literal(query)})`);
    const current = { version, serverTime: Number(time), at: now() };
    return { current, busySince: oldest === null || oldest === undefined ? undefined : Number(oldest) };
  }

  function mayGo({ serverTime, at }: Mark, busySince: number | undefined): boolean {
    if (!shared) return now() - at >= LONGEST_READ_MS;
    return busySince === undefined || busySince > serverTime;
  }

  async function cleanBefore({ version }: Mark): Promise<void> {
    const known = await ask(
      `SELECT snapshot_id::VARCHAR FROM ducklake_snapshots(${name}) WHERE snapshot_id < ${version}
       ORDER BY snapshot_id LIMIT ${MOST_AT_ONCE}`,
    );
    if (known.length > 0) {
      const versions = known.map(([id]) => id).join(", ");
      await act(`SELECT count(*)::VARCHAR FROM ducklake_expire_snapshots(${name}, versions => [${versions}])`);
    }
    // After that is durable: what is deleted before could still be needed.
    await act(`SELECT count(*)::VARCHAR FROM ducklake_cleanup_old_files(${name}, cleanup_all => true)`);
  }

  async function tryToClean(): Promise<void> {
    const { current, busySince } = await observe();
    if (mark !== undefined && !mayGo(mark, busySince)) {
      if (!shared || isHeldUp || now() - mark.at < HELD_UP_MS) return;
      isHeldUp = true;
      const message = "somebody has had a transaction open in the catalog's database for more than an hour";
      report({
        kind: "dependency-down",
        dependency: PART,
        message: `${message}; files of old snapshots stay until it ends`,
      });
      return;
    }
    if (mark !== undefined) await cleanBefore(mark);
    mark = current;
    if (isHeldUp) report({ kind: "dependency-up", dependency: PART });
    isHeldUp = false;
  }

  async function ask(sql: string): ReturnType<Run> {
    return await look(engine, (run) => run(statement(sql)));
  }

  async function one(sql: string): Promise<string | null | undefined> {
    const [[value] = []] = await ask(sql);
    return value;
  }

  async function act(sql: string): Promise<number> {
    const [[count] = []] = await engine.change({ connections: [], touches: [], signal: NEVER_STOPPED }, (run) =>
      run(statement(sql)),
    );
    return Number(count);
  }

  return {
    clean() {
      cleaning ??= tryToClean()
        // What cannot be done now is done the next time.
        .catch(() => {})
        .finally(() => {
          cleaning = undefined;
        });
      return cleaning;
    },
    async deleteOrphans() {
      const orphans = (options: string): string =>
        `FROM ducklake_delete_orphaned_files(${name}, older_than => now() - ${ORPHANED_FOR}${options})`;
      const found = await ask(`SELECT path ${orphans(", dry_run => true")}`);
      const foreign = found.find(([path]) => !OF_A_LAKE.test(path ?? ""));
      if (foreign !== undefined) {
        throw new Error(`${foreign[0]} lies in the data path of the cache, and is no file of it: nothing was deleted`);
      }
      return found.length === 0 ? 0 : await act(`SELECT count(*)::VARCHAR ${orphans("")}`);
    },
  };
}
