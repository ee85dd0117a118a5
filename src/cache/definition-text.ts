import type { CacheDefinition, RefreshVariables } from "./cache.ts";

/** The variables of a first fill. */
export const FIRST_FILL: RefreshVariables = {
  snapshotId: 1,
  snapshotTimestamp: "1970-01-01T00:00:00.000Z",
  previousSnapshotId: undefined,
  previousSnapshotTimestamp: undefined,
};

const NEXT_REFRESH: RefreshVariables = {
  snapshotId: 2,
  snapshotTimestamp: "1970-01-02T00:00:00.000Z",
  previousSnapshotId: 1,
  previousSnapshotTimestamp: "1970-01-01 00:00:00",
};

/** Whether two definitions of a cache are equal, so that its rows stay valid. */
export function isSameDefinition(one: CacheDefinition, other: CacheDefinition): boolean {
  const textOf = (each: CacheDefinition): string => JSON.stringify([each, definitionText(each)]);
  return one === other || textOf(one) === textOf(other);
}

/** Identifies the query and the mode of a cache: a refresh adds no rows to those of another query. */
export function definitionText({ mode, connections, render }: CacheDefinition): string {
  const rendered = [FIRST_FILL, NEXT_REFRESH].map((variables) => render(variables));
  return JSON.stringify({ mode, connections, rendered }, (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
}
