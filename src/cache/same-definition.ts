import type { CacheDefinition } from "./cache.ts";

/** Whether two descriptions of a cache come to the same: then its rows are as good as before. */
export function isSame(one: CacheDefinition, other: CacheDefinition): boolean {
  return one === other || signatureOf(one) === signatureOf(other);
}

const FIRST = {
  snapshotId: 1,
  snapshotTimestamp: "",
  previousSnapshotId: undefined,
  previousSnapshotTimestamp: undefined,
};
const LATER = { snapshotId: 2, snapshotTimestamp: "", previousSnapshotId: 1, previousSnapshotTimestamp: "" };

/** A template is known by what it renders, at the first fill and later. */
function signatureOf({ render, ...described }: CacheDefinition): string {
  return JSON.stringify([described, render(FIRST), render(LATER)], (_, value: unknown) =>
    typeof value === "bigint" ? `${value}` : value,
  );
}
