import type { Failure } from "./failure.ts";

/** Everything that the service reports of itself. Log, metrics and audit listen. */
export type ServiceEvent =
  | {
      readonly kind: "call-failed";
      readonly requestId: string;
      readonly endpoint: string;
      readonly failure: Failure;
      readonly cause: unknown;
      /** Where the call stands in the trace of whoever made it, when that was told. */
      readonly traceparent?: string | undefined;
    }
  | { readonly kind: "call-cut"; readonly requestId: string; readonly endpoint: string; readonly failure: Failure }
  | { readonly kind: "connection-down"; readonly connection: string; readonly message: string }
  | { readonly kind: "connection-up"; readonly connection: string }
  /** The database is unusable after an error and must be reopened. Once for each database that was opened. */
  | { readonly kind: "database-lost" }
  /** Something beside the data that the service leans on: a key server, a shared counter, a certificate. `message` says what is done instead. */
  | { readonly kind: "dependency-down"; readonly dependency: string; readonly message: string }
  | { readonly kind: "dependency-up"; readonly dependency: string }
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
  /** A write has made its rows old. */
  | { readonly kind: "cache-invalidated"; readonly cache: string }
  /** Old snapshots take up space until it works. Told when it begins to fail. */
  | { readonly kind: "cache-drop-failed"; readonly message: string }
  /** An endpoint that is run by the clock does not work; told when it begins to fail. */
  | { readonly kind: "heartbeat-failed"; readonly endpoint: string; readonly message: string }
  | { readonly kind: "heartbeat-works"; readonly endpoint: string }
  /** A call that spent long in the database. `sql` holds placeholders where its values were. */
  | {
      readonly kind: "slow-call";
      readonly requestId: string;
      readonly endpoint: string;
      readonly ms: number;
      /** Milliseconds by the name of the phase. */
      readonly phases: Readonly<Record<string, number>>;
      readonly sql: string;
      readonly traceparent?: string | undefined;
    }
  /** A call over a connection with `log-queries`; `parameters` where it has `log-parameters` too. */
  | {
      readonly kind: "query-ran";
      readonly requestId: string;
      readonly endpoint: string;
      readonly connections: readonly string[];
      readonly status: number;
      readonly ms: number;
      readonly rows: number | undefined;
      readonly sql: string;
      readonly parameters: readonly string[] | undefined;
      readonly traceparent?: string | undefined;
    }
  /** A database file that is only read has been replaced: the new one is served, unless there is something wrong with it. */
  | { readonly kind: "file-replaced"; readonly database: string; readonly problem: string | undefined }
  /** A write is durable, and its client gets success; the checkpoint that DuckDB made afterwards failed. */
  | { readonly kind: "checkpoint-failed"; readonly message: string }
  /** An endpoint that takes no `Idempotency-Key`, and why. Reported when the project is loaded. */
  | { readonly kind: "keys-refused"; readonly endpoint: string; readonly reason: string }
  /** A file of the project was written, made, moved or removed. */
  | { readonly kind: "files-changed" }
  /** The project has changed, and is served as it is now. */
  | { readonly kind: "reloaded"; readonly endpoints: number; readonly ms: number }
  /** It has changed, and is served as it was before: something is wrong with it. */
  | { readonly kind: "reload-refused"; readonly reason: string }
  /** A key of the main file has changed that is read at start only. */
  | { readonly kind: "restart-needed"; readonly key: string }
  /** A role or group name of a caller holds a comma, which `auth.*` writes as `%2C`. Once for each auth block. */
  | { readonly kind: "comma-in-name"; readonly variable: "roles" | "groups" }
  | { readonly kind: "unexpected"; readonly requestId: string; readonly error: unknown };

export type Report = (event: ServiceEvent) => void;

/** Passes every event on to each listener, in the order in which they came. */
export interface Events {
  readonly report: Report;
  listen(listener: Report): void;
}

export function openEvents(...first: readonly Report[]): Events {
  const listeners = [...first];
  return {
    report(event) {
      for (const listener of listeners) listener(event);
    },
    listen: (listener) => void listeners.push(listener),
  };
}
