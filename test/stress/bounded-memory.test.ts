import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openAppendedFile } from "../../src/audit/appended-file.ts";
import type { AuthenticationResult } from "../../src/auth/authenticator.ts";
import { identityKey, identityOf } from "../../src/auth/identity.ts";
import { openTokenCache } from "../../src/auth/oidc/token-cache.ts";
import { openExpiringCache } from "../../src/auth/verified.ts";
import { openReadAhead } from "../../src/engines/duckdb/read/read-ahead.ts";
import type { Rows } from "../../src/engines/rows.ts";
import { NEVER_STOPPED } from "../../src/engines/stop.ts";
import { json } from "../../src/formats/json/json.ts";
import { openRows } from "../../src/formats/json/rows.ts";
import { MAX_SUBSCRIBED_URI_LENGTH, MAX_SUBSCRIPTIONS, openSessions } from "../../src/mcp/sessions.ts";
import { memoryTaskStore } from "../../src/mcp/tasks/memory-store.ts";
import { openRateLimiter } from "../../src/rate-limit/rate-limiter.ts";
import { negotiateCoding } from "../../src/rest/negotiation/negotiate-coding.ts";
import { openNegotiator } from "../../src/rest/negotiation/negotiate-format.ts";
import { openResponseCache } from "../../src/rest/response/response-cache.ts";
import type { Chunk } from "../../src/result/chunk.ts";
import { statement, textValue } from "../../src/sql/statement.ts";
import {
  address,
  bounds,
  FILLED_BY_SERVICES,
  long,
  MIB,
  type Store,
  testThatMemoryLevelsOff,
} from "./filled-stores.ts";

const identity = (n: number): AuthenticationResult => {
  const found = identityOf({ type: "bearer", username: `user ${n}`, roles: [long(n, 6_000)] });
  identityKey(found);
  return { kind: "identity", identity: found };
};

const stores: readonly Store[] = [
  {
    rows: ["responses served from memory"],
    count: 5_000,
    open() {
      const answers = openResponseCache();
      return {
        async fill(n) {
          const size = n % 50 === 0 ? 256 * 1024 : 2_000;
          const body = [Buffer.alloc(size)];
          const answer = { kind: "whole", headers: [], contentType: "x", body, size, tag: "x" } as const;
          const watch = () => Promise.resolve({ version: "1", isUnchanged: () => true });
          const offer = () =>
            answers.offer(long(n, 2_048), size, watch, () => ({
              ...answer,
              compressedBodies: undefined,
              cached: undefined,
            }));
          offer();
          if (n % 10 === 0) offer();
          await watch();
        },
      };
    },
  },
  {
    rows: ["pages that are read ahead"],
    count: 60,
    open() {
      const rowsOf = (bytes: number): Rows => {
        const chunk: Chunk = {
          rows: 1,
          vectors: [{ layout: "fixed", validity: undefined, data: Buffer.alloc(bytes) }],
        };
        const chunks = [chunk];
        return {
          columns: [{ name: "x", type: { kind: "blob" } }],
          total: undefined,
          watch: () => Promise.resolve({ version: "1", isUnchanged: () => true }),
          next: () => chunks.pop(),
          close() {},
        };
      };
      let isLong = false;
      const ahead = openReadAhead({
        read: () => Promise.resolve(rowsOf(isLong ? 3 * MIB : 1.5 * MIB)),
        isWatched: () => true,
      });
      return {
        async fill(n) {
          for (const each of [false, true]) {
            isLong = each;
            const value = textValue(long(n, isLong ? 200_000 : 60_000));
            const statements = [statement("SELECT $1", value)];
            const signal = NEVER_STOPPED;
            await ahead.read({
              connections: [],
              statements,
              window: { limit: 1, offset: 1 },
              totalOf: undefined,
              signal,
            });
          }
        },
      };
    },
  },
  {
    rows: ["parsed `Accept` and `Accept-Encoding`"],
    count: 1_000,
    open() {
      const negotiations = [openNegotiator([json]), openNegotiator([json])];
      return {
        fill(n) {
          const header = (text: string): string => `${text}${n},${text.repeat(200)}`.slice(0, 512);
          for (const negotiate of negotiations) negotiate("json", header("a/b,"));
          negotiateCoding(header("a,"));
        },
      };
    },
  },
  {
    rows: ["column names of JSON responses"],
    count: 36,
    open: () => ({
      fill: (n) => openRows([{ name: long(n, 100_000), type: { kind: "text" } }], { before: ",", after: "" }),
    }),
  },
  {
    rows: ["verified and rejected credentials"],
    count: 3_000,
    open() {
      const remembered = openTokenCache(() => 0);
      const wrong = openExpiringCache<AuthenticationResult>({ maxBytes: MIB, bytesOf: () => 0, now: () => 0 });
      const refused: AuthenticationResult = { kind: "refused", failure: { kind: "unauthorized", scheme: "basic" } };
      return {
        fill(n) {
          remembered.set(String(n), { result: identity(n), until: 1, isCurrent: () => true });
          for (let each = 0; each < 3; each++) wrong.set(`${n} ${each}`.padEnd(32), refused, 1);
        },
      };
    },
  },
  {
    rows: ["rate limits"],
    count: 105_000,
    open() {
      const limiter = openRateLimiter({ now: () => 0, report: () => {} });
      const policy = { intervalSeconds: 60, key: "ip", store: undefined } as const;
      return {
        fill: (n) =>
          limiter.take(
            `GET /${"x".repeat(100)}`,
            { ...policy, max: 1 + (n % 2) },
            { address: address(n), username: "" },
          ),
      };
    },
  },
  {
    rows: ["MCP sessions", "resources that MCP sessions watch"],
    count: 24_000,
    open() {
      let ids = 0;
      const sessions = openSessions({ now: () => 0, randomId: () => `session ${ids++}`.padEnd(36) });
      return {
        fill(n) {
          const session = sessions.open({ owner: "", client: address(n % 100) });
          for (let index = 0; index < MAX_SUBSCRIPTIONS; index++) {
            if (!sessions.subscribe(session, long(n * MAX_SUBSCRIPTIONS + index, MAX_SUBSCRIBED_URI_LENGTH))) return;
          }
        },
      };
    },
  },
  {
    rows: ["results of MCP tasks"],
    count: 400,
    open() {
      const store = memoryTaskStore();
      const task = { owner: "", createdAt: 0, updatedAt: 0, ttlMs: 1, pollIntervalMs: 1 };
      return {
        async fill(n) {
          const state = { kind: "completed", result: long(n, 100_000) } as const;
          await store.save({ ...task, id: String(n), client: address(n % 50), state });
        },
      };
    },
  },
  {
    rows: ["audit lines that wait for the disk"],
    count: 20_000,
    async open() {
      const folder = await mkdtemp(join(tmpdir(), "eider-audit-"));
      const file = await openAppendedFile(join(folder, "audit.log"), () => {});
      // What was open is written no more: the path leads nowhere.
      await rm(folder, { recursive: true });
      return {
        fill: (n) => file.append(`${long(n, 500)}\n`),
        [Symbol.asyncDispose]: () => file.close(),
      };
    },
  },
];

/** Tested elsewhere. */
const elsewhere = ["idempotency keys", ...FILLED_BY_SERVICES];

test("every row of the documentation is filled, and nothing else", () => {
  expect([...bounds.keys()].sort()).toEqual([...stores.flatMap(({ rows }) => rows), ...elsewhere].sort());
  expect([...bounds.values()].every((bound) => bound > 0)).toBe(true);
});

testThatMemoryLevelsOff(stores);
