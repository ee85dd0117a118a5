import { createServer, type Socket } from "node:net";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeCertificate } from "../../test/certificates.ts";
import { freePort, startRedis, testWithRedis } from "../../test/redis.ts";
import { until } from "../../test/until.ts";
import type { ServiceEvent } from "../events.ts";
import type { RateLimitPolicy } from "./policy.ts";
import { openRateLimiter, type RateLimiter, type RateLimiterOptions, type RateState } from "./rate-limiter.ts";

const alice = { address: "10.0.0.1", username: "alice" };
/** A machine that is busy with other tests is no Redis that is slow. */
const PATIENT = 10_000;

let events: ServiceEvent[];
let limiters: RateLimiter[];
beforeEach(() => {
  events = [];
  limiters = [];
});
afterEach(async () => {
  await Promise.all(limiters.map((limiter) => limiter.close()));
});

function opened(options: Partial<RateLimiterOptions> = {}): RateLimiter {
  const limiter = openRateLimiter({
    now: Date.now,
    report: (event) => events.push(event),
    storeTimeoutMs: PATIENT,
    ...options,
  });
  limiters.push(limiter);
  return limiter;
}

function policyOf(store: string, max = 3): RateLimitPolicy {
  return { max, intervalSeconds: 60, key: "user", store };
}

async function takes(limiter: RateLimiter, policy: RateLimitPolicy, count: number): Promise<readonly RateState[]> {
  return await Promise.all(Array.from({ length: count }, () => limiter.take("GET /x", policy, alice)));
}

const allowed = (states: readonly RateState[]): number => states.filter((state) => state.allowed).length;
const kinds = (): readonly string[] => events.map(({ kind }) => kind);

describe("counters in Redis", () => {
  testWithRedis("limiters that share a store count together, to the one", async () => {
    await using redis = await startRedis();
    const policy = policyOf(redis.url, 20);
    const before = Date.now();
    const states = await Promise.all([takes(opened(), policy, 50), takes(opened(), policy, 50)]);
    expect(allowed(states.flat())).toBe(20);
    const [state] = await takes(opened(), policy, 1);
    expect(state).toMatchObject({ allowed: false, limit: 20, remaining: 0, windowSeconds: 60 });
    expect(state?.retryAfterSeconds).toBeGreaterThanOrEqual(1);
    expect(state?.resetAtMs).toBeGreaterThan(before + 59_000);
    expect(state?.resetAtMs).toBeLessThan(Date.now() + 61_000);
    expect(events).toEqual([]);
  });

  testWithRedis("a window ends, and its counter is gone", async () => {
    await using redis = await startRedis();
    const limiter = opened();
    const policy = { ...policyOf(redis.url), intervalSeconds: 3 };
    const [first] = await takes(limiter, policy, 1);
    expect(allowed(await takes(limiter, policy, 3))).toBe(2);
    await until("the end of the window", () => Date.now() > (first?.resetAtMs ?? 0) + 50);
    expect(allowed(await takes(limiter, policy, 4))).toBe(3);
  });

  testWithRedis("keys begin with `eider:`, end with their window, and show no strange name", async () => {
    await using redis = await startRedis();
    const limiter = opened();
    const policy = policyOf(`${redis.url}/2`);
    for (const username of ["alice", "a b\n*", "x".repeat(10_000)])
      await limiter.take("GET /x", policy, { address: "::1", username });
    await limiter.take("GET /x", policy, { address: "2001:db8::1", username: undefined });
    const client = new Redis(redis.port, { db: 2 });
    try {
      const keys = (await client.keys("*")).filter((key) => key !== "eider:rate:probe").sort();
      expect(keys).toEqual([
        "eider:rate:ip:2001:db8:0:0::/64 GET /x",
        expect.stringMatching(/^eider:rate:user#[\w-]{43} GET \/x$/),
        expect.stringMatching(/^eider:rate:user#[\w-]{43} GET \/x$/),
        "eider:rate:user:alice GET /x",
      ]);
      for (const key of keys) expect(await client.ttl(key)).toBeGreaterThan(30);
    } finally {
      client.disconnect();
    }
  });

  testWithRedis("a connection that is cut while nobody counts is opened again without a word", async () => {
    await using redis = await startRedis();
    const limiter = opened();
    const policy = policyOf(redis.url, 10);
    const client = new Redis(redis.port);
    const clients = async (): Promise<number> =>
      Number(/connected_clients:(\d+)/.exec(await client.info("clients"))?.[1]);
    try {
      for (const remaining of [9, 8, 7, 6]) {
        expect(await takes(limiter, policy, 1)).toMatchObject([{ remaining }]);
        expect(await client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")).toBe(1);
        // It comes back by itself.
        while ((await clients()) < 2) await new Promise((resolve) => setTimeout(resolve, 5));
      }
    } finally {
      client.disconnect();
    }
    expect(events).toEqual([]);
  });

  testWithRedis("user, password and database of the address are used", async () => {
    await using redis = await startRedis({
      args: ["--requirepass", "p@ss", "--user", "eider", "on", ">s3cret/:", "~eider:*", "+@all"],
    });
    const at = (who: string): string => redis.url.replace("://", `://${who}@`);
    const [one, other] = [opened(), opened()];
    expect(allowed(await takes(one, policyOf(at(":p%40ss")), 2))).toBe(2);
    expect(allowed(await takes(other, policyOf(at("eider:s3cret%2F%3A")), 2))).toBe(1);
    expect(allowed(await takes(other, policyOf(`${at(":p%40ss")}/1`), 2))).toBe(2);
    expect(events).toEqual([]);
  });
});

describe("without Redis each process counts for itself", () => {
  testWithRedis("one that is down at start is used when it comes", async () => {
    await using redis = await startRedis();
    await redis.kill();
    const policy = policyOf(redis.url);
    const limiter = opened({ policies: [policy] });
    await until("the report", () => events.length > 0);
    expect(events).toEqual([
      {
        kind: "dependency-down",
        dependency: `rate-limit store 127.0.0.1:${redis.port}`,
        message: "the connection is refused; each process counts for itself meanwhile",
      },
    ]);
    expect(allowed(await takes(limiter, policy, 10))).toBe(3);
    await redis.restart();
    await until("the report", () => events.length > 1);
    expect(events[1]).toEqual({ kind: "dependency-up", dependency: `rate-limit store 127.0.0.1:${redis.port}` });
    const together = await Promise.all([takes(limiter, policy, 5), takes(opened(), policy, 5)]);
    expect(allowed(together.flat())).toBe(3);
    expect(kinds()).toEqual(["dependency-down", "dependency-up"]);
  });

  testWithRedis("one that dies in the middle is replaced at once, and used again when it is back", async () => {
    await using redis = await startRedis();
    const limiter = opened();
    const policy = policyOf(redis.url, 100);
    const states: RateState[] = [];
    let isOver = false;
    const calling = (async () => {
      while (!isOver) {
        states.push(...(await takes(limiter, policy, 5)));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (let round = 0; round < 2; round++) {
      await until("calls", () => states.length > 200 * (round + 1));
      await redis.kill();
      await until("the report of its end", () => events.length === round * 2 + 1);
      await redis.restart();
      await until("the report of its return", () => events.length === round * 2 + 2);
    }
    isOver = true;
    await calling;
    expect(kinds()).toEqual(["dependency-down", "dependency-up", "dependency-down", "dependency-up"]);
    // Three Redises, of which each began empty, and this process.
    expect(allowed(states)).toBeGreaterThanOrEqual(200);
    expect(allowed(states)).toBeLessThanOrEqual(400);
  });

  testWithRedis("one that stops answering costs one wait, and is used again when it goes on", async () => {
    await using redis = await startRedis();
    const policy = policyOf(redis.url);
    const limiter = opened({ storeTimeoutMs: 250 });
    await takes(limiter, policy, 1);
    await until("a Redis that is used", () => events.length % 2 === 0);
    events.length = 0;
    redis.pause();
    expect((await takes(limiter, policy, 10)).length).toBe(10);
    expect(kinds()).toEqual(["dependency-down"]);
    expect(events[0]).toMatchObject({
      message: "it does not answer in time; each process counts for itself meanwhile",
    });
    // Nobody waits any more: these are counted here.
    const states = await takes(limiter, policy, 1000);
    expect(allowed(states)).toBe(0);
    redis.resume();
    await until("the report", () => events.some(({ kind }) => kind === "dependency-up"));
  });

  test("one that takes connections and never answers limits nobody less, and holds nobody up", async () => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => sockets.add(socket.on("error", () => {})));
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    try {
      const policy = policyOf(`redis://:hunter2@127.0.0.1:${port}`);
      const limiter = opened({ storeTimeoutMs: 250 });
      expect(allowed(await takes(limiter, policy, 10))).toBe(3);
      await until("the report", () => events.length > 0);
      expect(allowed(await takes(limiter, policy, 1000))).toBe(0);
      await until("another attempt", () => sockets.size > 1);
      expect(events).toEqual([
        {
          kind: "dependency-down",
          dependency: `rate-limit store 127.0.0.1:${port}`,
          message: "it does not answer in time; each process counts for itself meanwhile",
        },
      ]);
      await limiter.close();
    } finally {
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });

  test("a server that repeats the password does not bring it into messages", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", () => socket.write("-ERR unknown command `AUTH`, with args beginning with: `hunter2`, \r\n"));
    });
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    try {
      const policy = policyOf(`redis://:hunter2@127.0.0.1:${port}`);
      expect(allowed(await takes(opened(), policy, 10))).toBe(3);
      await until("the report", () => events.length > 0);
      expect(JSON.stringify(events)).not.toContain("hunter2");
      expect(events[0]).toMatchObject({ message: "it cannot be used; each process counts for itself meanwhile" });
    } finally {
      server.close();
    }
  });

  test("a store that is no Redis is reported once, and nobody is unlimited", async () => {
    const policy = policyOf("http://:hunter2@127.0.0.1");
    expect(allowed(await takes(opened(), policy, 10))).toBe(3);
    expect(kinds()).toEqual(["dependency-down"]);
    expect(JSON.stringify(events)).not.toContain("hunter2");
  });

  describe("one that answers and cannot count is down, and not up and down in turns", () => {
    const cases: readonly (readonly [string, readonly string[], string, string])[] = [
      ["a replica", ["--replicaof", "127.0.0.1 1"], "", "it is a replica that may not write"],
      ["a full one", ["--maxmemory", "1"], "", "its memory is full"],
      ["one that wants a password", ["--requirepass", "other"], "", "it requires a password"],
      ["one that wants another password", ["--requirepass", "other"], ":hunter2@", "it rejects the user or password"],
      ["one without that database", ["--databases", "1"], "/7", "it cannot be used"],
    ];
    for (const [name, args, extra, reason] of cases) {
      testWithRedis(name, async () => {
        await using redis = await startRedis({ args });
        const url = extra.startsWith("/") ? redis.url + extra : redis.url.replace("://", `://${extra}`);
        const policy = policyOf(url);
        const limiter = opened();
        expect(allowed(await takes(limiter, policy, 10))).toBe(3);
        const client = new Redis(redis.port, { lazyConnect: true, ...(args[1] === "other" && { password: "other" }) });
        try {
          let connections = 0;
          while (connections < 4) {
            await new Promise((resolve) => setTimeout(resolve, 20));
            const info = await client.info("stats");
            connections = Number(/total_connections_received:(\d+)/.exec(info)?.[1]);
          }
        } finally {
          client.disconnect();
        }
        expect(events).toEqual([
          {
            kind: "dependency-down",
            dependency: `rate-limit store 127.0.0.1:${redis.port}`,
            message: `${reason}; each process counts for itself meanwhile`,
          },
        ]);
      });
    }
  });

  testWithRedis("a certificate that nobody vouches for is not trusted", async () => {
    await using redis = await startRedis({ certificate: makeCertificate({ name: "self" }) });
    expect(allowed(await takes(opened(), policyOf(redis.url), 10))).toBe(3);
    expect(kinds()).toEqual(["dependency-down"]);
    expect(events[0]).toMatchObject({
      message: "DEPTH_ZERO_SELF_SIGNED_CERT; each process counts for itself meanwhile",
    });
  });
});
