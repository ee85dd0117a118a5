import type { Failure } from "./failure.ts";

/** Every event that the service reports. The log, metrics and reloads listen to them. */
export type ServiceEvent =
  | {
      readonly kind: "call-failed";
      readonly requestId: string;
      readonly endpoint: string;
      readonly failure: Failure;
      readonly cause: unknown;
      /** From the client, when it sent one. */
      readonly traceparent?: string | undefined;
    }
  /** A response was aborted after its first bytes were sent. */
  | { readonly kind: "call-cut"; readonly requestId: string; readonly endpoint: string; readonly failure: Failure }
  | { readonly kind: "connection-down"; readonly connection: string; readonly message: string }
  | { readonly kind: "connection-up"; readonly connection: string }
  /** The `init` of a connection takes long, and then that it is done. */
  | { readonly kind: "connection-opening" | "connection-opened"; readonly connection: string; readonly ms: number }
  /** The database is unusable after an error and must be reopened. Reported once per opened database. */
  | { readonly kind: "database-lost" }
  /** A dependency failed: identity provider, Redis, certificate. `message` says what happens instead. */
  | { readonly kind: "dependency-down"; readonly dependency: string; readonly message: string }
  | { readonly kind: "dependency-up"; readonly dependency: string }
  /** Progress of the warm-up: `done` of `total`, of which `failed` failed. */
  | { readonly kind: "cache-warm-up"; readonly done: number; readonly total: number; readonly failed: number }
  /** A cache refresh failed, so the old rows stay. Reported when refreshes begin to fail, and when the error changes. */
  | {
      readonly kind: "cache-refresh-failed";
      readonly cache: string;
      readonly message: string;
      /** Milliseconds until the retry. Undefined if the next read retries. */
      readonly retryMs: number | undefined;
    }
  | { readonly kind: "cache-refresh-works"; readonly cache: string }
  | {
      readonly kind: "cache-refreshed";
      readonly cache: string;
      readonly mode: "full" | "append" | "merge" | "results";
      readonly rows: number;
      readonly ms: number;
    }
  /** A write has made the cache stale. */
  | { readonly kind: "cache-invalidated"; readonly cache: string }
  /** Old snapshots could not be dropped, and take up space. Reported when dropping begins to fail. */
  | { readonly kind: "cache-drop-failed"; readonly message: string }
  /** A heartbeat failed. Reported when heartbeats of an endpoint begin to fail. */
  | { readonly kind: "heartbeat-failed"; readonly endpoint: string; readonly message: string }
  | { readonly kind: "heartbeat-works"; readonly endpoint: string }
  /** A call that was slow in the database. `sql` has placeholders instead of values. */
  | {
      readonly kind: "slow-call";
      readonly requestId: string;
      readonly endpoint: string;
      readonly ms: number;
      /** Milliseconds by phase name. */
      readonly phases: Readonly<Record<string, number>>;
      readonly sql: string;
      readonly traceparent?: string | undefined;
    }
  /** A call over a connection with `log-queries`. `parameters` is set if the connection also has `log-parameters`. */
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
  /** A read-only database file was replaced. The new one is served, unless there is a problem with it. */
  | { readonly kind: "file-replaced"; readonly database: string; readonly problem: string | undefined }
  /** The checkpoint after a write failed. The write is durable, and its client gets success. */
  | { readonly kind: "checkpoint-failed"; readonly message: string }
  /** An endpoint rejects `Idempotency-Key`, because of `reason`. Reported when the project is loaded. */
  | { readonly kind: "keys-refused"; readonly endpoint: string; readonly reason: string }
  /** A project file was created, changed, moved or deleted. */
  | { readonly kind: "files-changed" }
  | { readonly kind: "reloaded"; readonly endpoints: number; readonly ms: number }
  /** The project has problems, so the previous version is still served. */
  | { readonly kind: "reload-refused"; readonly reason: string }
  /** The value of a configuration key has changed, but is read only at startup. */
  | { readonly kind: "restart-needed"; readonly key: string }
  /** A role or group name contains a comma, which `auth.*` writes as `%2C`. Reported once per `auth` block. */
  | { readonly kind: "comma-in-name"; readonly variable: "roles" | "groups" }
  | { readonly kind: "unexpected"; readonly requestId: string; readonly error: unknown };

export type Report = (event: ServiceEvent) => void;

/** Passes every event to all listeners, in the order in which they were added. */
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
