import { randomBytes } from "node:crypto";
import { createServer, get, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { openDeadline } from "../../calls/deadline.ts";
import type { Endpoint } from "../../endpoint/endpoint.ts";
import { parquet } from "../../formats/parquet/parquet.ts";
import type { SpooledFile } from "../../spool/spooled-file.ts";
import { attachmentHeaders, cachingRules, fileNameOf, responseHeaders } from "./headers.ts";
import { sendResponse } from "./send-response.ts";

interface Served extends AsyncDisposable {
  readonly url: string;
  /** How each call ended. */
  readonly calls: Promise<unknown>[];
}

const opened: Served[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each[Symbol.asyncDispose]();
});

async function serve(file: SpooledFile, stalledClientTimeoutMs = 600_000): Promise<Served> {
  const calls: Promise<unknown>[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const deadline = openDeadline(600_000);
    const limits = { stalledClientTimeoutMs, maxBufferedBytes: 0 };
    const page = { limit: 10, offset: 0, total: 30 };
    const segments = [{ kind: "text", text: "orders" }] as const;
    const saved = attachmentHeaders({ route: { method: "GET", path: "/orders", segments } }, parquet);
    const caching = cachingRules({ auth: undefined, parameters: [] }, undefined);
    const headers = [...responseHeaders(page, "/orders?offset=10", { ...caching, cached: undefined }), ...saved];
    try {
      await sendResponse(
        { kind: "file", file, contentType: parquet.contentType, headers, tag: undefined, cached: undefined },
        { request, response, requestId: "id", deadline, limits, caching },
      );
      return undefined;
    } catch (error) {
      response.destroy();
      return error;
    }
  };
  const server = createServer((request, response) => void calls.push(handle(request, response)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const served: Served = {
    url: `http://127.0.0.1:${port}/`,
    calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  opened.push(served);
  return served;
}

/** A file of `count` pieces of 256 KiB each. `breaks`: reading fails after half of them. */
function fileOf(count: number, breaks = false): SpooledFile & { closed: number; read: number } {
  const piece = randomBytes(256 * 1024);
  return {
    size: count * piece.length,
    closed: 0,
    read: 0,
    async *pieces() {
      for (let index = 0; index < count; index++) {
        if (breaks && index > count / 2) throw new Error("a disk that breaks");
        this.read++;
        yield Buffer.from(piece);
      }
    },
    async close() {
      this.closed++;
    },
  };
}

function responseOf(url: string, method = "GET"): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent =
      method === "GET" ? get(url, { agent: false }, resolve) : request(url, { method, agent: false }, resolve);
    sent.on("error", reject).end();
  });
}

async function lengthOf(response: IncomingMessage): Promise<number> {
  let length = 0;
  response.on("data", (chunk: Buffer) => {
    length += chunk.length;
  });
  response.on("error", () => {});
  await new Promise((resolve) => response.on("close", resolve));
  return length;
}

const EXPECTED = {
  "content-type": "application/vnd.apache.parquet",
  "content-length": String(20 * 256 * 1024),
  "content-disposition": 'attachment; filename="orders.parquet"',
  "x-request-id": "id",
  "x-total-count": "30",
  "x-offset": "0",
  "x-limit": "10",
  "x-next": "/orders?offset=10",
  vary: "Accept, Accept-Encoding",
  "cache-control": "no-cache",
};

test("a file with its length, its name and the headers of its page", async () => {
  const file = fileOf(20);
  const served = await serve(file);
  const response = await responseOf(served.url);
  expect(response.headers).toMatchObject(EXPECTED);
  expect(await lengthOf(response)).toBe(file.size);
  expect(response.complete).toBe(true);
  expect([await served.calls[0], file.closed]).toEqual([undefined, 1]);
});

test("HEAD has the same headers and reads nothing", async () => {
  const file = fileOf(20);
  const served = await serve(file);
  const response = await responseOf(served.url, "HEAD");
  expect(response.headers).toMatchObject(EXPECTED);
  expect([await served.calls[0], file.closed, file.read]).toEqual([undefined, 1, 0]);
  response.resume();
});

test("a file that cannot be read to its end aborts the response", async () => {
  const file = fileOf(20, true);
  const served = await serve(file);
  const response = await responseOf(served.url);
  expect(await lengthOf(response)).toBeLessThan(file.size);
  expect(response.complete).toBe(false);
  expect([String(await served.calls[0]), file.closed]).toEqual(["Error: a disk that breaks", 1]);
});

test("a client that does not read pauses the file, and is disconnected", async () => {
  const file = fileOf(400);
  const served = await serve(file, 300);
  const response = await responseOf(served.url);
  response.on("error", () => {});
  expect(await served.calls[0]).toMatchObject({ failure: { kind: "cancelled" } });
  expect(file.read).toBeLessThan(100);
  expect(file.closed).toBe(1);
  expect(await lengthOf(response)).toBeLessThan(file.size);
  expect(response.complete).toBe(false);
});

test("a client that disconnects cancels the response", async () => {
  const file = fileOf(400);
  const served = await serve(file);
  const response = await responseOf(served.url);
  response.on("error", () => {});
  response.destroy();
  expect(await served.calls[0]).toMatchObject({ failure: { kind: "cancelled" } });
  expect(file.closed).toBe(1);
});

describe("file names", () => {
  const route = (path: string): Pick<Endpoint, "route"> => ({
    route: {
      method: "GET",
      path,
      segments: path
        .split("/")
        .filter((text) => text !== "")
        .map((text) => (text[0] === ":" ? { kind: "param", name: text.slice(1) } : { kind: "text", text })),
    },
  });

  test.each([
    ["/orders", "orders"],
    ["/customers/:id/orders", "orders"],
    ["/customers/:id", "customers"],
    ["/:id", "data"],
    ["/", "data"],
    ['/a b/ü"\\\r\n;x', "_x"],
    ["/..", "data"],
    ["/.hidden", "hidden"],
    ["/sales.2024-01", "sales.2024-01"],
  ])("%j is saved as %j", (path, name) => {
    expect(fileNameOf(route(path))).toBe(name);
  });

  test("no route", () => expect(fileNameOf({ route: undefined })).toBe("data"));
});
