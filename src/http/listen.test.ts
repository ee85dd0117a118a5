import { expect, test } from "vitest";
import { openSocket } from "../../test/socket.ts";
import { until } from "../../test/until.ts";
import { listen } from "./listen.ts";

test("connections that never asked for anything do not hold up the end; one that has begun to ask is heard", async () => {
  let finish: (() => void) | undefined;
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    handle(_, response) {
      finish = () => response.end("done");
    },
  });
  using silent = await openSocket(listener.url);
  using late = await openSocket(listener.url);
  using call = await openSocket(listener.url);
  late.send("GET / HTTP/1.1\r\n");
  call.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await until("the call", () => finish);
  const closed = listener.close();
  await silent.untilClosed();
  finish?.();
  finish = undefined;
  expect((await call.take(1))[0]).toMatchObject({ status: 200, body: "done" });
  await call.untilClosed();
  late.send("Host: x\r\n\r\n");
  (await until("the late call", () => finish))();
  const [answer] = await late.take(1);
  expect([answer?.body, answer?.headers.get("connection")]).toEqual(["done", "close"]);
  late.close();
  call.close();
  await closed;
});

test("a connection that only opened and closed is forgotten", async () => {
  const listener = await listen({ host: "127.0.0.1", port: 0, handle: (_, response) => response.end("x") });
  for (let count = 0; count < 50; count++) {
    const socket = await openSocket(listener.url);
    if (count % 2 === 0) socket.reset();
    else socket.close();
  }
  await listener.close();
});
