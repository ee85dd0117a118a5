import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { measureMemory } from "../../test/heap.ts";
import type { ServiceEvent } from "../events.ts";
import { rateLimitHeaders } from "./headers.ts";
import type { RateLimitPolicy } from "./policy.ts";
import { openRateLimiter, type RateLimiter, type RateState } from "./rate-limiter.ts";

const START = Date.parse("2026-01-02T03:04:05.600Z");
const policy: RateLimitPolicy = { max: 3, intervalSeconds: 60, key: "ip", store: undefined };
const alice = { address: "10.0.0.1", username: "alice" };

let limiter: RateLimiter;
let events: ServiceEvent[];
beforeEach(() => {
  vi.useFakeTimers({ now: START, toFake: ["Date"] });
  events = [];
  limiter = openRateLimiter({ now: Date.now, report: (event) => events.push(event) });
});
afterEach(async () => {
  await limiter.close();
  vi.useRealTimers();
  expect(events).toEqual([]);
});

async function takes(count: number, { name = "GET /x", limit = policy, who = alice } = {}): Promise<RateState[]> {
  const states: RateState[] = [];
  for (let index = 0; index < count; index++) states.push(await limiter.take(name, limit, who));
  return states;
}

const allowed = (states: readonly RateState[]): number => states.filter((state) => state.allowed).length;

test("exactly max calls are allowed in an interval", async () => {
  const states = await takes(5);
  expect(states.map((state) => [state.allowed, state.remaining])).toEqual([
    [true, 2],
    [true, 1],
    [true, 0],
    [false, 0],
    [false, 0],
  ]);
  expect(states[0]).toEqual({
    allowed: true,
    limit: 3,
    remaining: 2,
    resetAtMs: START + 60_000,
    retryAfterSeconds: 60,
    windowSeconds: 60,
  });
});

test("the interval begins with the first call, and a new one with the first after its end", async () => {
  await takes(4);
  vi.setSystemTime(START + 59_999);
  expect(await limiter.take("GET /x", policy, alice)).toMatchObject({
    allowed: false,
    resetAtMs: START + 60_000,
    retryAfterSeconds: 1,
  });
  vi.setSystemTime(START + 60_000);
  expect(await limiter.take("GET /x", policy, alice)).toMatchObject({
    allowed: true,
    remaining: 2,
    resetAtMs: START + 120_000,
  });
});

test("calls that come at the same time are counted one by one", async () => {
  const states = await Promise.all(Array.from({ length: 50 }, () => limiter.take("GET /x", policy, alice)));
  expect(allowed(states)).toBe(3);
  expect(states.map(({ remaining }) => remaining).sort((a, b) => b - a)).toEqual([2, 1, ...Array(48).fill(0)]);
});

test("endpoints and callers are counted apart", async () => {
  expect(allowed(await takes(5))).toBe(3);
  expect(allowed(await takes(5, { name: "GET /y" }))).toBe(3);
  expect(allowed(await takes(5, { who: { ...alice, address: "10.0.0.2" } }))).toBe(3);
  // The address counts, not the user.
  expect(allowed(await takes(5, { who: { ...alice, username: "bob" } }))).toBe(0);
});

test("key user: users are counted apart, whatever their address; strangers by address", async () => {
  const limit: RateLimitPolicy = { ...policy, key: "user" };
  expect(allowed(await takes(5, { limit }))).toBe(3);
  expect(allowed(await takes(5, { limit, who: { ...alice, address: "10.0.0.2" } }))).toBe(0);
  expect(allowed(await takes(5, { limit, who: { ...alice, username: "bob" } }))).toBe(3);
});

test("a name and a caller that look alike when they are joined stay two", async () => {
  expect(allowed(await takes(5, { name: "b", who: { address: "a", username: "" } }))).toBe(3);
  expect(allowed(await takes(5, { name: "b b", who: { address: "a", username: "" } }))).toBe(3);
  expect(allowed(await takes(5, { name: "b", who: { address: "a b", username: "" } }))).toBe(3);
});

test("one who has all addresses of an IPv6 network is one caller", async () => {
  const states = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      limiter.take("GET /x", policy, { address: `2001:db8::${index.toString(16)}`, username: undefined }),
    ),
  );
  expect(allowed(states)).toBe(3);
});

test("a look counts nothing, and tells what the next call would get", async () => {
  const look = async (): Promise<RateState> => await limiter.take("GET /x", policy, alice, 0);
  expect(await look()).toMatchObject({ allowed: true, remaining: 3 });
  await takes(2);
  expect(await look()).toMatchObject({ allowed: true, remaining: 1 });
  await takes(1);
  expect(await look()).toMatchObject({ allowed: false, remaining: 0 });
});

test("with a maximum of 0 nothing is allowed", async () => {
  expect(allowed(await takes(2, { limit: { ...policy, max: 0 } }))).toBe(0);
});

test("an interval that is longer than any timer still limits", async () => {
  const limit = { ...policy, intervalSeconds: 90 * 24 * 60 * 60 };
  expect(allowed(await takes(5, { limit }))).toBe(3);
  vi.advanceTimersByTime(24 * 60 * 60 * 1000);
  expect(allowed(await takes(5, { limit }))).toBe(0);
});

describe("somebody sets the clock", () => {
  test("back: nobody waits longer than an interval for the next one", async () => {
    expect(allowed(await takes(4))).toBe(3);
    vi.setSystemTime(START - 3_600_000);
    const refused = await limiter.take("GET /x", policy, alice);
    expect([refused.allowed, refused.retryAfterSeconds]).toEqual([false, 60]);
    expect(refused.resetAtMs).toBe(START - 3_600_000 + 60_000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(allowed(await takes(4))).toBe(3);
  });

  test("forward: an interval may end early, and the next is a whole one", async () => {
    expect(allowed(await takes(4))).toBe(3);
    vi.setSystemTime(START + 3_600_000);
    const states = await takes(4);
    expect(allowed(states)).toBe(3);
    expect(states.at(-1)?.retryAfterSeconds).toBe(60);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(allowed(await takes(4))).toBe(3);
  });
});

test("any calls at any times are answered as a model of fixed windows answers them", async () => {
  const step = fc.record({
    wait: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 3000 })),
    name: fc.constantFrom("GET /a", "GET /b"),
    address: fc.constantFrom("10.0.0.1", "10.0.0.2"),
  });
  const limit = fc.record({ max: fc.integer({ min: 1, max: 4 }), intervalSeconds: fc.integer({ min: 1, max: 4 }) });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(limit, fc.array(step, { maxLength: 60 }), async ({ max, intervalSeconds }, steps) => {
      run++;
      const model = new Map<string, { count: number; end: number }>();
      for (const { wait, name, address } of steps) {
        vi.advanceTimersByTime(wait);
        const key = `${name} ${address}`;
        const known = model.get(key);
        const window =
          known !== undefined && known.end > Date.now()
            ? known
            : { count: 0, end: Date.now() + intervalSeconds * 1000 };
        window.count++;
        model.set(key, window);
        const state = await limiter.take(
          `${run} ${name}`,
          { max, intervalSeconds, key: "ip", store: undefined },
          { address, username: undefined },
        );
        expect(state).toEqual({
          allowed: window.count <= max,
          limit: max,
          remaining: Math.max(0, max - window.count),
          resetAtMs: window.end,
          retryAfterSeconds: Math.max(1, Math.ceil((window.end - Date.now()) / 1000)),
          windowSeconds: intervalSeconds,
        });
      }
    }),
  );
});

test("what answers say of the limit", () => {
  const state: RateState = {
    allowed: true,
    limit: 10,
    remaining: 9,
    resetAtMs: 1_767_323_045_001,
    retryAfterSeconds: 30,
    windowSeconds: 60,
  };
  expect(rateLimitHeaders(state)).toEqual([
    ["X-RateLimit-Limit", "10"],
    ["X-RateLimit-Remaining", "9"],
    ["X-RateLimit-Reset", "1767323046"],
    ["RateLimit", '"default";r=9;t=30'],
    ["RateLimit-Policy", '"default";q=10;w=60'],
  ]);
});

test.each([
  [
    "an IPv4 address",
    "GET /customers/:id",
    (index: number) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
  ],
  ["an IPv6 network", "GET /customers/:id", (index: number) => `2001:db8:${(index >> 16) + 1}:${index & 0xffff}::1`],
  ["an endpoint with a long name", `GET /${"x".repeat(200)}`, (index: number) => `10.0.${index >> 8}.${index & 255}`],
])("an address takes at most 300 bytes: %s", async (_, name, addressOf) => {
  const count = 40_000;
  const crowded = openRateLimiter({ now: Date.now, report: () => {}, maxKeys: count });
  const before = await measureMemory();
  let refused = 0;
  for (let index = 0; index < count; index++) {
    // Every second one is blocked.
    const limit = { ...policy, max: 1 + (index % 2) };
    const state = await crowded.take(name, limit, { address: addressOf(index), username: undefined });
    if (!state.allowed) refused++;
  }
  expect(((await measureMemory()) - before) / count).toBeLessThan(300);
  expect(refused).toBe(0);
  // None was forgotten meanwhile.
  expect(await crowded.take(name, policy, { address: addressOf(0), username: undefined })).toMatchObject({
    remaining: 1,
  });
  await crowded.close();
});

test("an address that is blocked stays blocked, whatever others do; new addresses are rejected when all are blocked", async () => {
  const crowded = openRateLimiter({ now: Date.now, report: () => {}, maxKeys: 100 });
  const calls = async (address: string, count: number): Promise<number> => {
    const states: RateState[] = [];
    for (let call = 0; call < count; call++)
      states.push(await crowded.take("GET /x", policy, { address, username: undefined }));
    return allowed(states);
  };
  expect(await calls("10.0.0.1", 4)).toBe(3);
  for (let other = 0; other < 2_000; other++) await calls(`10.1.${other >> 8}.${other & 255}`, 1);
  expect(await calls("10.0.0.1", 4)).toBe(0);
  for (let other = 0; other < 200; other++) await calls(`10.2.0.${other}`, 4);
  expect(await calls("10.3.0.1", 1)).toBe(0);
  vi.setSystemTime(START + 60_000);
  expect([await calls("10.0.0.1", 4), await calls("10.3.0.1", 4)]).toEqual([3, 3]);
  await crowded.close();
});
