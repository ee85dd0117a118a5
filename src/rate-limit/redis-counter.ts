import type { Redis } from "ioredis";
import type { RateLimiterRedis } from "rate-limiter-flexible";
import type { Report } from "../events.ts";
import { withTimeLimit } from "../time-limit.ts";
import type { Count, Counter } from "./counter.ts";
import type { StoreAddress } from "./store-address.ts";

export interface RedisCounterOptions {
  /** Counts while the store is down, so that limits always apply. */
  readonly memory: Counter;
  readonly report: Report;
  readonly storeTimeoutMs: number;
}

interface Connection {
  readonly client: Redis;
  readonly limiter: RateLimiterRedis;
}

/** The prefix of Eider's keys in the store. */
const PREFIX = "eider:rate";
const CONNECT_MS = 2000;
const DISCONNECT_MS = 100;
const FIRST_RETRY_MS = 10;
const RETRY_MS = 500;
const MAX_RETRY_MS = 2000;

/** Counts across processes. While the store is down or slow, each process counts alone, without waiting. */
export function openRedisCounter(address: StoreAddress, options: RedisCounterOptions): Counter {
  const { memory, report, storeTimeoutMs } = options;
  const dependency = `rate-limit store ${address.displayName}`;
  let state: "opening" | "up" | "down" = "opening";
  let settle = (): void => {};
  let whenSettled = Promise.resolve();
  let closed = false;

  function markOpening(): void {
    state = "opening";
    whenSettled = new Promise((resolve) => {
      settle = resolve;
    });
  }

  function markDown(error: unknown): void {
    if (state === "down") return;
    state = "down";
    settle();
    const message = `${reasonOf(error)}; each process counts for itself meanwhile`;
    if (!closed) report({ kind: "dependency-down", dependency, message });
  }

  function markUp(): void {
    if (closed) return;
    if (state === "down") report({ kind: "dependency-up", dependency });
    state = "up";
    settle();
  }

  /** A store that responds but cannot count, such as a replica or a full store, is treated as down. */
  async function probe({ client, limiter }: Connection, lastError: unknown): Promise<void> {
    try {
      if (lastError !== undefined) throw lastError;
      await within(storeTimeoutMs, limiter.penalty("probe", 0, { customDuration: 1 }));
      markUp();
    } catch (error) {
      markDown(error);
      reconnect(client);
    }
  }

  async function connect(): Promise<Connection> {
    const [{ Redis }, { RateLimiterRedis }] = await Promise.all([import("ioredis"), import("rate-limiter-flexible")]);
    const client = new Redis({
      ...connectionOptions(address, storeTimeoutMs),
      retryStrategy: (times) => (state === "up" ? FIRST_RETRY_MS : Math.min(times * RETRY_MS, MAX_RETRY_MS)),
    });
    // `points` and `duration` are not used: each call sets its own window, and checks the count itself.
    const limiter = new RateLimiterRedis({ storeClient: client, keyPrefix: PREFIX, points: 0, duration: 1 });
    const connection = { client, limiter };
    let lastError: unknown;
    client.on("connecting", () => {
      lastError = undefined;
    });
    client.on("error", (error: unknown) => {
      lastError ??= error;
    });
    // Servers and proxies close idle connections. The store is only down if reconnecting fails.
    client.on("close", () => (state === "up" ? markOpening() : markDown(lastError)));
    client.on("end", () => markDown(lastError));
    client.on("ready", () => void probe(connection, lastError));
    return connection;
  }

  markOpening();
  const connecting = connect();
  connecting.catch(markDown);

  return {
    async count(key, points, limit): Promise<Count> {
      const connection = await connecting.catch(() => undefined);
      if (state === "opening") await within(storeTimeoutMs, whenSettled).catch(() => {});
      if (connection === undefined || state !== "up") return await memory.count(key, points, limit);
      const { client, limiter } = connection;
      try {
        const counting = limiter.penalty(key, points, { customDuration: limit.windowSeconds });
        const counted = await within(storeTimeoutMs, counting);
        return { consumed: counted.consumedPoints, endsInMs: Math.max(0, counted.msBeforeNext) };
      } catch (error) {
        markDown(error);
        reconnect(client);
        return await memory.count(key, points, limit);
      }
    },
    async close() {
      closed = true;
      const client = (await connecting.catch(() => undefined))?.client;
      markDown(undefined);
      if (client === undefined) return;
      const end = new Promise<void>((resolve) => client.once("end", () => resolve()));
      const isOpen = client.status === "connecting" || client.status === "connect" || client.status === "ready";
      client.disconnect();
      if (isOpen) await within(CONNECT_MS, end).catch(() => {});
    },
  };
}

/** Replaces a failed connection, on which late responses may still arrive. If it is not ready, it is already reconnecting. */
function reconnect(client: Redis): void {
  if (client.status === "ready") client.disconnect(true);
}

function connectionOptions({ host, port, username, password, db, tls }: StoreAddress, storeTimeoutMs: number) {
  return {
    host,
    port,
    db,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
    // RESP2, which every version of Redis supports.
    protocol: 2,
    disableClientInfo: true,
    connectTimeout: CONNECT_MS,
    disconnectTimeout: DISCONNECT_MS,
    // For the handshake. `within` limits counting.
    commandTimeout: Math.max(CONNECT_MS, storeTimeoutMs),
    // A failed count is repeated in memory, so it must not be retried in Redis.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  } as const;
}

/** Rejects if the work takes longer, unless the response arrived while this process was busy. */
function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return withTimeLimit(work, ms, async () => {
    // Timers run before sockets are read, so the response may already be waiting.
    await new Promise(setImmediate);
    throw new Error(SLOW);
  });
}

const SLOW = "it does not answer in time";

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection is refused",
  ECONNRESET: "the connection was cut",
  EPIPE: "the connection was cut",
  ETIMEDOUT: SLOW,
  ENOTFOUND: "its host is not known",
  EAI_AGAIN: "its host is not known",
  EHOSTUNREACH: "it cannot be reached",
  ENETUNREACH: "it cannot be reached",
  NOAUTH: "it requires a password",
  WRONGPASS: "it rejects the user or password",
  NOPERM: "its user lacks a permission",
  READONLY: "it is a replica that may not write",
  OOM: "its memory is full",
  MISCONF: "it cannot save to disk, so it rejects writes",
  LOADING: "it is still loading",
};

/** Never quotes requests or responses, because a response may contain the password. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "the connection was closed";
  if (error.message === SLOW || error.message === "Command timed out") return SLOW;
  const code = "code" in error ? String(error.code) : (/^[A-Z]{3,}\b/.exec(error.message)?.[0] ?? "");
  return REASONS[code] ?? (/^[A-Z][A-Z_\d]{3,}$/.test(code) ? code : "it cannot be used");
}
