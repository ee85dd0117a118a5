import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";
import type { CacheName } from "./cache.ts";
import { asFailure, reasonOf } from "./refresh-failure.ts";
import type { StaleMark, StaleMarks, WriteAction } from "./stale-marks.ts";

/** Called when a write is over, with whether it may have changed rows. */
export type EndWrite = (end: { readonly changed: boolean }) => void;

/**
 * The marks of one cache. The rows of a write and the cache are in different databases, so no transaction spans both. A mark
 * is stored before the write and removed after the refresh that includes it: a crash at any time leaves a mark, never old rows
 * that count as current.
 */
export interface CacheMarks {
  /** Continues with the marks of an earlier process. */
  adopt(marks: readonly StaleMark[]): void;
  /** Before a write: resolves when a mark is durable. Rejects with a RequestFailure; then the write must not run. */
  begin(action: WriteAction): Promise<EndWrite>;
  /** Runs a refresh, and removes the marks of writes that were over when it began. */
  runRefresh<T>(refresh: () => Promise<T>): Promise<T>;
  /** Whether an earlier process ended before it ran a refresh that a write required. */
  owesRefresh(): boolean;
}

export interface WriteMarks {
  forCache(name: CacheName): CacheMarks;
  /** Resolves when no removal is running. */
  close(): Promise<void>;
}

export interface WriteMarksOptions {
  /** Undefined if the cache ends with the process: then no marks are needed. */
  readonly stored: StaleMarks | undefined;
  /** In schedule time. */
  readonly time: () => number;
  /** Whether other processes store marks too. */
  readonly isShared: boolean;
  readonly report: Report;
}

interface Mark {
  readonly action: WriteAction;
  /** Undefined if it could not be stored. */
  readonly uid: Promise<string | undefined>;
  /** Later writes get a mark of their own. */
  readonly joinableUntil: number;
  /** A refresh that begins earlier does not remove it. */
  readonly removableFrom: number;
  readonly isAdopted: boolean;
  /** How many of its writes are running. */
  runningWrites: number;
  hasChanges: boolean;
  /** A running refresh includes its writes. */
  isIncluded: boolean;
}

/**
 * A process cannot know whether another one still uses a mark. So marks are used for a limited time, and others remove them much
 * later: no write takes that long.
 */
const SHARED_JOINABLE_MS = 10 * 60_000;
const SHARED_REMOVABLE_AFTER_MS = 60 * 60_000;

const DEPENDENCY = "cache database";

export function openWriteMarks({ stored, time, isShared, report }: WriteMarksOptions): WriteMarks {
  const removals = new Set<Promise<void>>();
  let isDown = false;

  /** Undefined if the database cannot store it: a full cache disk must not stop writes to the data. */
  async function store(database: StaleMarks, name: CacheName, action: WriteAction): Promise<string | undefined> {
    try {
      const uid = await database.add(name, action);
      if (isDown) report({ kind: "dependency-up", dependency: DEPENDENCY });
      isDown = false;
      return uid;
    } catch (error) {
      if (!(error instanceof RequestFailure) || error.failure.kind !== "query-failed") throw error;
      const message = `${reasonOf(asFailure(error))}; after a crash, the cache ${name.schema}.${name.table} may lack a write`;
      if (!isDown) report({ kind: "dependency-down", dependency: DEPENDENCY, message });
      isDown = true;
      return undefined;
    }
  }

  function remove(database: StaleMarks, marks: readonly Mark[]): void {
    const removal = Promise.all(marks.map(({ uid }) => uid))
      .then((uids) => database.remove(uids.filter((uid) => uid !== undefined)))
      // A mark that remains causes one unnecessary refresh after the next startup.
      .catch(() => {})
      .finally(() => removals.delete(removal));
    removals.add(removal);
  }

  function marksOf(name: CacheName, database: StaleMarks): CacheMarks {
    const marks = new Set<Mark>();

    function join(action: WriteAction): Mark {
      const isJoinable = ({ action: known, isIncluded, joinableUntil }: Mark): boolean =>
        !isIncluded && time() < joinableUntil && (known === "refresh" || known === action);
      const found = [...marks].find(isJoinable);
      if (found !== undefined) return found;
      const mark: Mark = {
        action,
        uid: store(database, name, action),
        joinableUntil: isShared ? time() + SHARED_JOINABLE_MS : Number.POSITIVE_INFINITY,
        removableFrom: 0,
        isAdopted: false,
        runningWrites: 0,
        hasChanges: false,
        isIncluded: false,
      };
      marks.add(mark);
      const forget = (): boolean => marks.delete(mark);
      mark.uid.then((uid) => uid ?? forget(), forget);
      return mark;
    }

    function discard(some: readonly Mark[]): void {
      if (some.length === 0) return;
      for (const mark of some) marks.delete(mark);
      remove(database, some);
    }

    return {
      adopt(some) {
        for (const { uid, action } of some)
          marks.add({
            action,
            uid: Promise.resolve(uid),
            joinableUntil: isShared ? 0 : Number.POSITIVE_INFINITY,
            removableFrom: isShared ? time() + SHARED_REMOVABLE_AFTER_MS : 0,
            isAdopted: true,
            runningWrites: 0,
            hasChanges: true,
            isIncluded: false,
          });
      },
      async begin(action) {
        const mark = join(action);
        mark.runningWrites++;
        try {
          await mark.uid;
        } catch (error) {
          mark.runningWrites--;
          throw error;
        }
        return ({ changed }) => {
          mark.runningWrites--;
          mark.hasChanges ||= changed;
          if (mark.runningWrites === 0 && !mark.hasChanges) discard([mark]);
        };
      },
      async runRefresh(refresh) {
        const included = [...marks].filter(
          ({ runningWrites, removableFrom }) => runningWrites === 0 && time() >= removableFrom,
        );
        for (const mark of included) mark.isIncluded = true;
        try {
          const made = await refresh();
          discard(included);
          return made;
        } catch (error) {
          for (const mark of included) mark.isIncluded = false;
          throw error;
        }
      },
      owesRefresh: () => [...marks].some(({ action, isAdopted }) => isAdopted && action === "refresh"),
    };
  }

  return {
    forCache: (name) => (stored === undefined ? NO_MARKS : marksOf(name, stored)),
    async close() {
      await Promise.all(removals);
    },
  };
}

const NO_MARKS: CacheMarks = {
  adopt() {},
  begin: () => Promise.resolve(() => {}),
  runRefresh: (refresh) => refresh(),
  owesRefresh: () => false,
};
