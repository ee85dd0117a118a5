import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { RequestFailure } from "../failure.ts";
import { readBody } from "./body-stream.ts";

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "no failure",
    (error: unknown) => (error instanceof RequestFailure ? error.failure.kind : error),
  );

const stream = (...chunks: readonly string[]) =>
  Readable.from(
    chunks.map((chunk) => Buffer.from(chunk)),
    { objectMode: false },
  );

test.each([[[]], [["abc"]], [["a", "bc", "def"]], [["0123456789"]]])("chunks %j come as one", async (chunks) => {
  expect((await readBody(stream(...chunks), undefined, 10)).toString()).toBe(chunks.join(""));
});

test("one byte too many is a failure, whatever the header says", async () => {
  expect(await failureOf(readBody(stream("01234", "56789", "x"), undefined, 10))).toBe("body-too-large");
  expect(await failureOf(readBody(stream("01234567890"), "3", 10))).toBe("body-too-large");
});

test("the failure does not wait for the end", async () => {
  const endless = new Readable({ read() {} });
  endless.push(Buffer.alloc(11));
  expect(await failureOf(readBody(endless, undefined, 10))).toBe("body-too-large");
  expect(endless.destroyed).toBe(false);
});

test("a Content-Length over the limit is refused before a byte is read", async () => {
  const silent = new Readable({ read() {} });
  expect(await failureOf(readBody(silent, "11", 10))).toBe("body-too-large");
  expect(silent.destroyed).toBe(false);
});

test("a client that leaves, and a broken stream", async () => {
  const left = new Readable({ read() {} });
  const leaving = failureOf(readBody(left, undefined, 10));
  left.destroy();
  expect(await leaving).toBe("cancelled");
  const broken = new Readable({ read() {} });
  const breaking = failureOf(readBody(broken, undefined, 10));
  broken.destroy(new Error("reset"));
  expect(await breaking).toBe("cancelled");
});

test("over a real connection the answer to too large a body arrives", async () => {
  const server = createServer((request, response) => {
    readBody(request, request.headers["content-length"], 1000).then(
      (body) => response.end(String(body.length)),
      (error: RequestFailure) => response.writeHead(413, { connection: "close" }).end(error.failure.kind),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const post = (body: string) => fetch(`http://127.0.0.1:${port}`, { method: "POST", body });
  expect(await (await post("x".repeat(1000))).text()).toBe("1000");
  expect((await post("x".repeat(1001))).status).toBe(413);
  const socket = connect(port, "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const chunk = `400\r\n${"x".repeat(1024)}\r\n`;
  socket.write(chunk.repeat(200));
  socket.on("error", () => {});
  let answer = "";
  for await (const data of socket) answer += data;
  expect(answer).toContain("413");
  expect(answer).toContain("body-too-large");
  server.close();
});
