import type { Attempts, RefreshOutcome } from "./attempts.ts";
import type { TableCache, WarmUpProgress } from "./table-caches.ts";

/** Fills those of the caches that are empty, in the background. `progress` is called at the start and after each cache. */
export function warmUp(caches: readonly TableCache[], attempts: Attempts<TableCache>, progress: WarmUpProgress): void {
  const empty = caches.filter(({ current }) => current === undefined);
  let done = 0;
  let failures = 0;
  if (empty.length > 0) progress(done, empty.length, failures);
  const onEnd = (outcome: RefreshOutcome): void => {
    if (outcome.kind === "failed") failures++;
    progress(++done, empty.length, failures);
  };
  const request = {
    priority: "background",
    mustBeNew: false,
    signal: undefined,
    endsWithWaiters: false,
    onEnd,
  } as const;
  for (const cache of empty) void attempts.wait(cache, request);
}
