/** What caches report of themselves. `cache` is `schema.table`. */
export type CacheEvent =
  /** Empty caches are filled in the background: `done` of `total`, of which `failed` could not be. */
  | { readonly kind: "cache-warm-up"; readonly done: number; readonly total: number; readonly failed: number }
  /** The old rows stay. Told when it begins to fail, and when it fails in another way. */
  | {
      readonly kind: "cache-refresh-failed";
      readonly cache: string;
      readonly message: string;
      /** When it is tried again by itself; undefined: with the next read. */
      readonly retryMs: number | undefined;
    }
  | { readonly kind: "cache-refresh-works"; readonly cache: string }
  /** For each refresh: of interest to those who look for something. */
  | {
      readonly kind: "cache-refreshed";
      readonly cache: string;
      readonly mode: "full" | "append" | "merge" | "results";
      readonly rows: number;
      readonly ms: number;
    }
  /** Old snapshots take up space until it works. Told when it begins to fail. */
  | { readonly kind: "cache-drop-failed"; readonly message: string };

export type ReportCache = (event: CacheEvent) => void;
