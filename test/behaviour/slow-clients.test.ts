import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { listen } from "../../src/http/listen.ts";
import { endpoint, serviceFrom, type TestService } from "../service.ts";
import { openSocket, type RawSocket } from "../socket.ts";
import { until } from "../until.ts";

/** As in the program, but for the numbers. */
const PATIENCE = { headersMs: 700, requestMs: 1_400, idleMs: 500, checkMs: 50 };
const FILES = {
  ...endpoint(
    "SELECT {{params.a}} AS a",
    "method: POST\nwith-pagination: false\noperation: { type: Read }\nrequest:\n  - { field-name: a, field-in: body }\n",
  ),
};
const HEAD = "POST /x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";

interface Impatient extends AsyncDisposable {
  readonly url: string;
  readonly service: TestService;
}

async function impatient(): Promise<Impatient> {
  const service = await serviceFrom(FILES);
  const listener = await listen({ host: "127.0.0.1", port: 0, handle: service.app.handle, timeouts: PATIENCE });
  return {
    url: listener.url,
    service,
    async [Symbol.asyncDispose]() {
      listener.destroy();
      await listener.close();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** Sends a byte every now and then until the other side has had enough; gives how long that took. */
async function drip(socket: RawSocket, text: string): Promise<number> {
  const from = performance.now();
  for (const byte of text) {
    if (socket.isClosed()) break;
    socket.send(byte);
    await wait(25);
  }
  await socket.untilClosed();
  return performance.now() - from;
}

async function answers(url: string): Promise<void> {
  const answer = await fetch(`${url}/x`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: '{"a":"1"}',
  });
  expect([answer.status, await answer.text()]).toEqual([200, '[{"a":"1"}]']);
}

describe("a client that sends too slowly gets 408, is closed and delays no other", () => {
  test.each([
    ["headers", "", `${HEAD}X-Long: ${"x".repeat(10_000)}`, PATIENCE.headersMs],
    ["a body", `${HEAD}Content-Length: 10000\r\n\r\n`, `{"a":"${"x".repeat(10_000)}`, PATIENCE.requestMs],
    ["a chunked body", `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, `2000\r\n${"x".repeat(8_000)}`, PATIENCE.requestMs],
  ])("%s", async (_, head, dripped, limitMs) => {
    await using it = await impatient();
    const sockets = await Promise.all(Array.from({ length: 50 }, () => openSocket(it.url)));
    for (const socket of sockets) socket.send(head);
    const dripping = Promise.all(sockets.map((socket) => drip(socket, dripped)));
    await answers(it.url);
    const times = await dripping;
    await answers(it.url);
    expect(Math.min(...times)).toBeGreaterThan(limitMs * 0.8);
    for (const socket of sockets) {
      // A late byte that meets a closed connection resets it, and takes the answer with it.
      if (socket.wasReset() && socket.answers().length === 0) continue;
      expect(socket.answers()).toMatchObject([{ status: 408, body: '{"error":"Request Timeout"}' }]);
    }
    expect(sockets.some((socket) => socket.answers()[0]?.status === 408)).toBe(true);
    expect(it.service.service.engine.activity()).toMatchObject({ running: 0, waiting: 0 });
    expect(it.service.events.filter(({ kind }) => kind === "unexpected")).toEqual([]);
  });
});

describe("half-open connections: the client is gone and nobody was told", () => {
  test.each([
    ["before it said anything", ""],
    ["in the middle of its headers", HEAD.slice(0, 40)],
    ["in the middle of its body", `${HEAD}Content-Length: 100\r\n\r\n{"a":`],
    ["after its answer", `${HEAD}Content-Length: 9\r\n\r\n{"a":"1"}`],
  ])("%s", async (_, sent) => {
    await using it = await impatient();
    const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(it.url)));
    for (const socket of sockets) {
      if (sent !== "") socket.send(sent);
    }
    await until("the end of every connection", () => sockets.every((socket) => socket.isClosed()));
    await answers(it.url);
    expect(it.service.service.engine.activity()).toMatchObject({ running: 0, waiting: 0 });
    expect(it.service.events.filter(({ kind }) => kind === "unexpected")).toEqual([]);
  });
});
