import { createHash } from "node:crypto";
import type { WriteOnce, WriteProgress } from "../engines/write-once.ts";
import { RequestFailure } from "../failure.ts";

/** A request that its client may send again, not knowing what became of it. */
export interface RepeatableRequest {
  /** Endpoint and caller: keys of others are others. */
  readonly scope: string;
  /** What the client calls it, in `Idempotency-Key`. */
  readonly key: string;
  /** What else it says: the same key with other contents is a mistake. */
  readonly fingerprint: string;
}

/** What a write needs to be run once, but for what only its endpoint knows. */
export type OnceRecord = Omit<WriteOnce, "store" | "encode">;

/** What a write changed, and the body of its response. */
export interface WriteResponse {
  readonly rowsAffected: number;
  readonly body: string;
}

/** Responses to writes by the keys of their clients, so that no write runs twice. */
export interface IdempotentResponses {
  once(request: RepeatableRequest, run: (record: OnceRecord) => Promise<WriteResponse>): Promise<WriteResponse>;
}

interface StoredResponse {
  readonly progress: WriteProgress;
  readonly since: number;
  readonly bytes: number;
}

const KEPT_MS = 24 * 60 * 60 * 1000;
const MOST_BYTES = 32 * 1024 * 1024;
/** Besides the response: two hashes, and what a Map needs for an entry. */
const ENTRY_BYTES = 1024;

export function openIdempotentResponses(now: () => number): IdempotentResponses {
  const running = new Map<string, { readonly request: string; readonly result: Promise<WriteResponse> }>();
  // Of writes to databases in memory. A Map is in the order of insertion: the first entry is the oldest.
  const stored = new Map<string, StoredResponse>();
  let bytes = 0;

  function remove(id: string): void {
    bytes -= stored.get(id)?.bytes ?? 0;
    stored.delete(id);
  }

  function store(id: string, progress: WriteProgress): void {
    remove(id);
    const size = ENTRY_BYTES + 2 * (progress.response?.length ?? 0);
    stored.set(id, { progress, since: now(), bytes: size });
    bytes += size;
    for (const [oldest, { since }] of stored) {
      if (bytes <= MOST_BYTES && now() - since < KEPT_MS) return;
      remove(oldest);
    }
  }

  function recordOf(id: string, request: string): OnceRecord {
    return {
      id,
      request,
      now: now(),
      oldest: now() - KEPT_MS,
      memory: {
        get() {
          const known = stored.get(id);
          return known !== undefined && now() - known.since < KEPT_MS ? known.progress : undefined;
        },
        set: (progress) => store(id, progress),
      },
    };
  }

  return {
    async once({ scope, key, fingerprint }, run) {
      const id = hashOf(`${scope}\n${key}`);
      const request = hashOf(fingerprint);
      for (;;) {
        const same = running.get(id);
        if (same === undefined) break;
        if (same.request !== request) throw new RequestFailure({ kind: "key-reused" });
        // When it fails, the next one tries itself.
        const result = await same.result.catch(() => undefined);
        if (result !== undefined) return result;
      }
      const result = run(recordOf(id, request));
      running.set(id, { request, result });
      try {
        return await result;
      } finally {
        running.delete(id);
      }
    },
  };
}

/** Nothing of a request is kept but this. */
function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
