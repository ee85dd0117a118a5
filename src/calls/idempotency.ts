import { createHash } from "node:crypto";
import type { WriteOnce, WriteProgress } from "../engines/write-once.ts";
import { RequestFailure } from "../failure.ts";

/** A request that the client may send again if it got no response. */
export interface RepeatableRequest {
  /** Endpoint and identity. Keys are unique only within them. */
  readonly scope: string;
  /** The value of `Idempotency-Key`. */
  readonly key: string;
  /** The contents of the request. The same key with other contents is an error. */
  readonly fingerprint: string;
}

/** The record of a write, without the parts that only its endpoint knows. */
export type OnceRecord = Omit<WriteOnce, "store" | "encode">;

/** The result of a write, and the body of its response. */
export interface WriteResponse {
  readonly rowsAffected: number;
  readonly body: string;
}

/** Stores responses to writes by idempotency key, so that no write runs twice. */
export interface IdempotentResponses {
  once(request: RepeatableRequest, run: (record: OnceRecord) => Promise<WriteResponse>): Promise<WriteResponse>;
}

interface StoredResponse {
  readonly progress: WriteProgress;
  readonly since: number;
  readonly bytes: number;
}

const RETENTION_MS = 24 * 60 * 60 * 1000;
const MAX_BYTES = 32 * 1024 * 1024;
/** Overhead besides the response: two hashes and an entry of a Map. */
const ENTRY_BYTES = 1024;

export function openIdempotentResponses(now: () => number): IdempotentResponses {
  const running = new Map<string, { readonly request: string; readonly result: Promise<WriteResponse> }>();
  // For writes to in-memory databases. A Map keeps the order of insertion, so the first entry is the oldest.
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
      if (bytes <= MAX_BYTES && now() - since < RETENTION_MS) return;
      remove(oldest);
    }
  }

  function recordOf(id: string, request: string): OnceRecord {
    return {
      id,
      request,
      now: now(),
      oldest: now() - RETENTION_MS,
      memory: {
        get() {
          const known = stored.get(id);
          return known !== undefined && now() - known.since < RETENTION_MS ? known.progress : undefined;
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
        // If the first request failed, this one runs the write.
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

/** Eider stores only this hash of a request. */
function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
