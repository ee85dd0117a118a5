import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";
import type { CacheName } from "./cache.ts";
import { asFailure, reasonOf } from "./refresh-failure.ts";
import type { StaleMark, StaleMarks, WriteAction } from "./stale-marks.ts";

/** Call it when a write has ended. `changed`: the write may have changed rows. */
export type EndWrite = (end: { readonly changed: boolean }) => void;

/**
 * The stale marks of one cache: durable notes that it may lack the rows of a write. The rows of a write and the cache are in
 * different databases, so no transaction spans both. A mark is stored before the write and removed after a refresh that includes the
 * write. So a crash at any time leaves a mark, never old rows that count as current.
 */
export interface CacheMarks {
  /** Continues with the marks of an earlier process. */
  adopt(marks: readonly StaleMark[]): void;
  /**
   * Before a write: resolves when its mark is durable, or when the cache database cannot store it, which is reported. Rejects with a
   * RequestFailure; then the write must not run.
   */
  begin(action: WriteAction): Promise<EndWrite>;
  /** Runs a refresh, and removes the marks of writes that had ended when it began. */
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
  readonly markStore: StaleMarks | undefined;
  /** Monotonic, in milliseconds. */
  readonly time: () => number;
  /** Whether other processes store marks too. */
  readonly isShared: boolean;
  readonly report: Report;
}

type StoredMarksOptions = WriteMarksOptions & { readonly markStore: StaleMarks };

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
 * A process cannot know whether a write in another process still needs a mark. So new writes join a mark only for ten minutes, and
 * another process removes it an hour after adopting it at the earliest. No write runs that long.
 */
const SHARED_JOINABLE_MS = 10 * 60_000;
const SHARED_REMOVABLE_AFTER_MS = 60 * 60_000;

const DEPENDENCY = "cache database";

export function openWriteMarks({ markStore, ...options }: WriteMarksOptions): WriteMarks {
  return markStore === undefined ? NO_WRITE_MARKS : openStoredMarks({ markStore, ...options });
}

function openStoredMarks({ markStore, time, isShared, report }: StoredMarksOptions): WriteMarks {
  const removals = new Set<Promise<void>>();
  let isDown = false;

  /** Undefined if the database cannot store it: a full cache disk must not stop writes to the data. */
  async function store(name: CacheName, action: WriteAction): Promise<string | undefined> {
    try {
      const uid = await markStore.add(name, action);
      if (isDown) report({ kind: "dependency-up", dependency: DEPENDENCY });
      isDown = false;
      return uid;
    } catch (error) {
      if (!(error instanceof RequestFailure) || error.failure.kind !== "query-failed") throw error;
      const message = `${reasonOf(asFailure(error))}; after a crash, the cache ${name.schema}.${name.table} may be missing the latest writes`;
      if (!isDown) report({ kind: "dependency-down", dependency: DEPENDENCY, message });
      isDown = true;
      return undefined;
    }
  }

  function removeStored(marks: readonly Mark[]): void {
    const removal = Promise.all(marks.map(({ uid }) => uid))
      .then((uids) => markStore.remove(uids.filter((uid) => uid !== undefined)))
      // A mark that remains causes one unnecessary refresh after the next startup.
      .catch(() => {})
      .finally(() => removals.delete(removal));
    removals.add(removal);
  }

  function marksOf(name: CacheName): CacheMarks {
    const marks = new Set<Mark>();

    function joinOrCreate(action: WriteAction): Mark {
      const isJoinable = ({ action: known, isIncluded, joinableUntil }: Mark): boolean =>
        !isIncluded && time() < joinableUntil && (known === "refresh" || known === action);
      const found = [...marks].find(isJoinable);
      if (found !== undefined) return found;
      const mark: Mark = {
        action,
        uid: store(name, action),
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

    function forgetAndRemove(done: readonly Mark[]): void {
      if (done.length === 0) return;
      for (const mark of done) marks.delete(mark);
      removeStored(done);
    }

    return {
      adopt(adopted) {
        for (const { uid, action } of adopted)
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
        const mark = joinOrCreate(action);
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
          if (mark.runningWrites === 0 && !mark.hasChanges) forgetAndRemove([mark]);
        };
      },
      async runRefresh(refresh) {
        const included = [...marks].filter(
          ({ runningWrites, removableFrom }) => runningWrites === 0 && time() >= removableFrom,
        );
        for (const mark of included) mark.isIncluded = true;
        try {
          const made = await refresh();
          forgetAndRemove(included);
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
    forCache: marksOf,
    async close() {
      await Promise.all(removals);
    },
  };
}

const NO_WRITE_MARKS: WriteMarks = { forCache: () => NO_MARKS, close: () => Promise.resolve() };

const NO_MARKS: CacheMarks = {
  adopt() {},
  begin: () => Promise.resolve(() => {}),
  runRefresh: (refresh) => refresh(),
  owesRefresh: () => false,
};
