import { once } from "node:events";
import { join } from "node:path";
import { connect } from "node:tls";
import { describe, expect, test } from "vitest";
import { makeCertificate } from "../../test/certificates.ts";
import { projectFolder } from "../../test/project-folder.ts";
import { openSocket } from "../../test/socket.ts";
import { until } from "../../test/until.ts";
import { openConnectionLimit } from "./connection-limit.ts";
import { type Listener, listen, type RequestHandler } from "./listen.ts";

/** Refuses everything without reading it, as an endpoint does that is not there. */
const refuseAll: RequestHandler = (_, response) => response.writeHead(404).end("not here");

async function listening(handle: RequestHandler = refuseAll): Promise<Listener & AsyncDisposable> {
  const listener = await listen({ host: "127.0.0.1", port: 0, handle });
  return {
    ...listener,
    async [Symbol.asyncDispose]() {
      listener.destroy();
      await listener.close();
    },
  };
}

const post = (headers: string, body = ""): string => `POST / HTTP/1.1\r\nHost: x\r\n${headers}\r\n${body}`;

/** Each gets a response, and its client keeps its own side of the connection open. */
const REFUSED: readonly (readonly [name: string, bytes: string, status: number])[] = [
  ["malformed", "nonsense\r\n\r\n", 400],
  ["no Host", "GET / HTTP/1.1\r\n\r\n", 400],
  ["too many headers", `GET / HTTP/1.1\r\nHost: x\r\n${"a:\r\n".repeat(1_500)}\r\n`, 431],
  ["headers that are too long", `GET / HTTP/1.1\r\nHost: x\r\na: ${"x".repeat(20_000)}\r\n\r\n`, 431],
  ["CONNECT", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 405],
  ["an unknown expectation", post("Expect: nonsense\r\nContent-Length: 9\r\n"), 417],
  ["a coding that we do not have", post("Transfer-Encoding: gzip, chunked\r\n"), 501],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505],
  ["a body that never comes", post("Content-Length: 1000000\r\n"), 404],
  ["a body that never ends", post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"), 404],
  ["a last request whose body never comes", post("Connection: close\r\nContent-Length: 1000000\r\n", "{"), 404],
  ["a last request", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404],
];

/** How many connections this process has, of either end. */
const connectionsHere = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

describe("connections are gone soon after their last response, though their clients do not close them", () => {
  test("plain", async () => {
    await using listener = await listening();
    const before = connectionsHere();
    const sockets = await Promise.all(REFUSED.map(() => openSocket(listener.url)));
    for (const [index, [, bytes]] of REFUSED.entries()) sockets[index]?.send(bytes);
    for (const [index, [name, , status]] of REFUSED.entries()) {
      const [answer] = (await sockets[index]?.take(1)) ?? [];
      expect([name, answer?.status, answer?.complete]).toEqual([name, status, true]);
    }
    await until("the end of the server's side", () => connectionsHere() === before + REFUSED.length);
    for (const socket of sockets) socket.close();
  });

  test("encrypted", async () => {
    const { cert, key } = makeCertificate({ name: "first" });
    using folder = projectFolder({ "cert.pem": cert, "key.pem": key });
    const tls = { certFile: join(folder.path, "cert.pem"), keyFile: join(folder.path, "key.pem"), report: () => {} };
    const listener = await listen({ host: "127.0.0.1", port: 0, handle: refuseAll, tls });
    const before = connectionsHere();
    const options = { host: "127.0.0.1", port: Number(new URL(listener.url).port), ca: cert, allowHalfOpen: true };
    const sockets = await Promise.all(
      REFUSED.map(async ([name, bytes, status]) => {
        const socket = connect(options).on("error", () => {});
        await once(socket, "secureConnect");
        let received = "";
        socket.on("data", (chunk: Buffer) => {
          received += chunk;
        });
        socket.write(bytes);
        await until(`the response to ${name}`, () => received.startsWith(`HTTP/1.1 ${status} `));
        return socket;
      }),
    );
    await until("the end of the server's side", () => connectionsHere() <= before + REFUSED.length);
    for (const socket of sockets) socket.destroy();
    await listener.close();
  });
});

test("a client that still sends gets to see the response, and may go on when it has sent everything", async () => {
  await using listener = await listening();
  using socket = await openSocket(listener.url);
  socket.send(post("Content-Length: 9\r\n"));
  await socket.take(1);
  for (const byte of "12345678") {
    await new Promise((resolve) => setTimeout(resolve, 200));
    socket.send(byte);
  }
  socket.send(`9${post("Content-Length: 0\r\n")}`);
  expect((await socket.take(2)).map(({ status }) => status)).toEqual([404, 404]);
  expect(socket.isClosed()).toBe(false);
});

test("one that sends for ever does not keep its connection", async () => {
  await using listener = await listening();
  using socket = await openSocket(listener.url);
  socket.send(post("Content-Length: 999999999\r\n"));
  await until("a reset", () => {
    socket.send("x");
    return socket.wasReset();
  });
  expect(socket.answers()).toMatchObject([{ status: 404 }]);
});

test.each([
  ["before it said anything", ""],
  ["in its headers", "GET / HTTP/1.1\r\nHo"],
  ["after a request", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["in its body", post("Content-Length: 9\r\n", "1")],
])("a client that has said everything is closed: %s", async (_, bytes) => {
  await using listener = await listening((request, response) => request.resume().on("end", () => response.end("x")));
  using socket = await openSocket(listener.url);
  if (bytes !== "") socket.send(bytes);
  socket.endSending();
  await socket.untilClosed();
});

test("a client that takes nothing of its responses is cut off", async () => {
  const big = Buffer.alloc(64 << 20);
  const timeouts = { stalledMs: 300, checkMs: 50 };
  const handle: RequestHandler = (_, response) => response.end(big);
  const listener = await listen({ host: "127.0.0.1", port: 0, handle, timeouts });
  const before = connectionsHere();
  using socket = await openSocket(listener.url);
  socket.pause();
  socket.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await until("the server's side", () => connectionsHere() === before + 2);
  await until("its end", () => connectionsHere() === before + 1);
  await listener.close();
});

test("beyond the limit connections are closed at once, which is reported once; idle ones make room", async () => {
  const events: unknown[] = [];
  let time = 0;
  const limit = openConnectionLimit(3, { report: (event) => events.push(event), now: () => time });
  const [first, second] = await Promise.all(
    ["first", "second"].map((name) =>
      listen({ host: "127.0.0.1", port: 0, handle: (_, response) => response.end(name), limit }),
    ),
  );
  if (first === undefined || second === undefined) throw new Error("not open");
  const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  // Two that are in the middle of a request, and one that has been served.
  using slow = await openSocket(first.url);
  using slower = await openSocket(second.url);
  using idle = await openSocket(second.url);
  for (const each of [slow, slower]) each.send("GET / HTTP/1.1\r\nHost: x\r\n");
  idle.send(get);
  expect((await idle.take(1))[0]?.body).toBe("second");
  const down = {
    kind: "dependency-down",
    dependency: "accepting connections",
    message: expect.stringMatching(/^all 3 connections are in use/),
  };
  using beyond = await openSocket(first.url);
  await beyond.untilClosed();
  expect(events).toEqual([down]);
  // The idle one had to go, so that there is room for one that asks.
  await idle.untilClosed();
  using next = await openSocket(first.url);
  next.send(get);
  expect((await next.take(1))[0]?.body).toBe("first");
  using again = await openSocket(first.url);
  await again.untilClosed();
  expect(events).toEqual([down]);
  for (const each of [slow, slower]) each.send("\r\n");
  expect((await slow.take(1))[0]?.body).toBe("first");
  expect((await slower.take(1))[0]?.body).toBe("second");
  // It is over when there has been room for a while; then it may be reported again.
  time = 10_000;
  for (const each of [slow, slower, next]) each.close();
  await until("the end of it", () => events.length === 2);
  expect(events).toEqual([down, { kind: "dependency-up", dependency: "accepting connections" }]);
  for (const listener of [first, second]) await listener.close();
});
