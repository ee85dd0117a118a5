import { once } from "node:events";
import { get, type IncomingMessage, type ServerResponse } from "node:http";
import type { Transform } from "node:stream";
import * as zlib from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { formats } from "../../src/formats/index.ts";
import { listen, type RequestHandler } from "../../src/http/listen.ts";
import { negotiateCoding } from "../../src/rest/negotiation/negotiate-coding.ts";
import { compressors } from "../../src/rest/response/compressors.ts";
import { sendRequest } from "../ask.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { openSocket } from "../socket.ts";
import { until } from "../until.ts";

const codings = compressors.map(({ coding }) => coding);
const compressible = formats.filter((format) => format.kind === "rows" && format.compressible).map(({ name }) => name);
const others = formats.map(({ name }) => name).filter((name) => !compressible.includes(name));
const table = compressible.flatMap((format) => codings.map((coding) => [format, coding] as const));

function read(path: string, sql: string, yaml = "with-pagination: false\n"): Files {
  return {
    [`${path}.yaml`]: `url-path: /${path}\ntemplate-source: ${path}.sql\nconnection: memory\n${yaml}`,
    [`${path}.sql`]: sql,
  };
}

const text = (length: number): string => `SELECT repeat('x', ${length}) AS t`;
/** 2 MB and more, of which a stream compresses 128 KiB at a time. */
const ROWS = 50_000;
const ENDLESS_ROWS = "SELECT range AS n, hash(range) AS h FROM range(100000000)";

const files: Files = {
  "eider.yaml": "connections: { memory: {} }\nlimits: { max-buffered-bytes: 1MiB }\n",
  // In JSON: ten characters around the text.
  ...read("border", text(1014)),
  ...read("above", text(1015)),
  ...read("whole", "SELECT range AS n, 'name ' || range AS name FROM range(1500)"),
  ...read("largest", text(65_526)),
  ...read("long", text(65_527)),
  ...read("huge", text(3_000_000)),
  ...read("rows", `SELECT range AS n, 'name ' || range AS name, range / 7 AS part FROM range(${ROWS})`),
  ...read("page", "SELECT range AS n FROM range(2000)", "with-pagination: true\n"),
  ...read("endless", ENDLESS_ROWS),
  ...read(
    "fails",
    "SELECT CASE WHEN range = 300000 THEN error('broken') ELSE range::VARCHAR END AS n FROM range(330000)",
  ),
};

let service: TestService;
beforeAll(async () => {
  service = await serviceFrom(files);
});
afterAll(() => service?.[Symbol.asyncDispose]());
afterEach(() => void vi.restoreAllMocks());

function unpacked(bytes: Buffer, coding: string | undefined): Buffer {
  const { zstdDecompressSync } = zlib as { readonly zstdDecompressSync?: (bytes: Buffer) => Buffer };
  switch (coding) {
    case undefined:
      return bytes;
    case "gzip":
      return zlib.gunzipSync(bytes);
    case "br":
      return zlib.brotliDecompressSync(bytes);
    case "zstd":
      if (zstdDecompressSync !== undefined) return zstdDecompressSync(bytes);
  }
  throw new Error(`an unknown coding: ${coding}`);
}

const askFor = (path: string, coding: string) =>
  sendRequest(service.url + path, { headers: { "accept-encoding": coding } });
const isIdle = (): boolean => service.service.engine.activity().running === 0;

describe("what a client accepts", () => {
  const best = codings[0];
  test.each<[header: string | undefined, expected: string | undefined]>([
    [undefined, undefined],
    ["", undefined],
    ["identity", undefined],
    ["gzip", "gzip"],
    ["GZIP", "gzip"],
    ["x-gzip", "gzip"],
    ["br", "br"],
    ["deflate", undefined],
    ["deflate, gzip", "gzip"],
    ["gzip, deflate, br", "br"],
    ["gzip, deflate, br, zstd", best],
    ["br;q=0.5, gzip", "gzip"],
    ["gzip;q=0.001", "gzip"],
    ["gzip;q=0", undefined],
    ["*", best],
    ["*;q=0", undefined],
    ["gzip;q=1.0, *;q=0", "gzip"],
    ["*, gzip;q=0.5, br;q=0, zstd;q=0", "gzip"],
    ["gzip, identity", "gzip"],
    ["gzip;q=0.5, identity", undefined],
    ["gzip;q=0.5, identity;q=0.2", "gzip"],
    ["identity;q=0", undefined],
    ["gzip;q=x", "gzip"],
    [";;,,;q=1", undefined],
  ])("%j gives %j", (header, expected) => {
    expect(negotiateCoding(header)?.coding).toBe(expected);
  });
});

describe("whole answers", () => {
  test.each(codings)("%s above 1 KiB only", async (coding) => {
    const plain = await askFor("/border", coding);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.body.length).toBe(1024);
    const packed = await askFor("/above", coding);
    expect(packed.headers["content-encoding"]).toBe(coding);
    expect(Number(packed.headers["content-length"])).toBe(packed.body.length);
    expect(unpacked(packed.body, coding).length).toBe(1025);
  });

  test.each(table)("%s in %s is the same, with its length", async (format, coding) => {
    const path = `/whole?format=${format}`;
    const plain = await sendRequest(service.url + path);
    expect(Number(plain.headers["content-length"])).toBe(plain.body.length);
    expect(plain.body.length).toBeLessThan(64 * 1024);
    const packed = await askFor(path, coding);
    expect(packed.headers["content-encoding"]).toBe(coding);
    expect(packed.headers["vary"]).toBe("Accept, Accept-Encoding");
    expect(Number(packed.headers["content-length"])).toBe(packed.body.length);
    expect(packed.body.length).toBeLessThan(plain.body.length / 2);
    expect(unpacked(packed.body, coding)).toEqual(plain.body);
  });

  test.each(codings)("64 KiB are whole, one byte more is streamed: %s", async (coding) => {
    const whole = await askFor("/largest", coding);
    expect([whole.headers["transfer-encoding"], whole.headers["content-encoding"]]).toEqual([undefined, coding]);
    expect(unpacked(whole.body, coding).length).toBe(64 * 1024);
    const long = await askFor("/long", coding);
    expect([long.headers["transfer-encoding"], long.headers["content-encoding"]]).toEqual(["chunked", coding]);
    expect(unpacked(long.body, coding).length).toBe(64 * 1024 + 1);
  });

  test.each(codings)("pages too: %s", async (coding) => {
    const packed = await askFor("/page?limit=500", coding);
    expect(packed.headers["x-total-count"]).toBe("2000");
    expect(JSON.parse(unpacked(packed.body, coding).toString())).toMatchObject({ total_count: 2000 });
  });

  test("fetch, which unpacks by itself, sees nothing of it", async () => {
    const answer = await service.get("/whole", { "accept-encoding": "gzip" });
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(await answer.json()).toHaveLength(1500);
  });
});

describe("streams", () => {
  test.each(table)("many rows as %s in %s", async (format, coding) => {
    const path = `/rows?format=${format}`;
    const plain = await sendRequest(service.url + path);
    const packed = await askFor(path, coding);
    expect(packed.complete).toBe(true);
    expect(packed.headers["content-encoding"]).toBe(coding);
    expect(packed.headers["content-length"]).toBeUndefined();
    expect(packed.body.length).toBeLessThan(plain.body.length / 2);
    expect(unpacked(packed.body, coding).equals(plain.body)).toBe(true);
  });

  test.each(codings)("one value that is larger than any piece: %s", async (coding) => {
    expect(unpacked((await askFor("/huge", coding)).body, coding).length).toBe(3_000_010);
  });

  test.each(codings)("one that fails midway is cut, and %s has no end", async (coding) => {
    const answer = await askFor("/fails", coding);
    expect([answer.status, answer.complete]).toEqual([200, false]);
    expect(answer.body.length).toBeGreaterThan(1_000);
    expect(() => unpacked(answer.body, coding)).toThrow();
    await until("an idle engine", isIdle);
    expect(service.events.at(-1)).toMatchObject({ kind: "call-cut", failure: { kind: "query-failed" } });
  });

  test.each(codings)("HTTP/1.0 has no chunks, but %s knows its end too", async (coding) => {
    using socket = await openSocket(service.url);
    socket.send(`GET /fails HTTP/1.0\r\nAccept-Encoding: ${coding}\r\n\r\n`);
    await socket.untilClosed();
    const bytes = socket.received();
    const body = bytes.subarray(bytes.indexOf("\r\n\r\n") + 4);
    expect(body.length).toBeGreaterThan(1_000);
    expect(() => unpacked(body, coding)).toThrow();
  });

  test.each(compressors)("a client that leaves leaves nothing behind: $coding", async (compressor) => {
    const packers: Transform[] = [];
    const { open } = compressor;
    vi.spyOn(compressor, "open").mockImplementation(() => {
      const packer = open();
      packers.push(packer);
      return packer;
    });
    for (let count = 0; count < 3; count++) {
      using socket = await openSocket(service.url);
      socket.send(`GET /endless HTTP/1.1\r\nHost: x\r\nAccept-Encoding: ${compressor.coding}\r\n\r\n`);
      await until("bytes", () => socket.received().length > 10_000);
      socket.reset();
      await until("an idle engine", isIdle);
    }
    await until("the end of every packer", () => packers.length === 3 && packers.every(({ closed }) => closed));
    expect(service.events.filter(({ kind }) => kind === "unexpected")).toEqual([]);
  });

  test.each(compressors)("a packer that breaks cuts the answer: $coding", async (compressor) => {
    const { open } = compressor;
    vi.spyOn(compressor, "open").mockImplementation(() => {
      const packer = open();
      setTimeout(() => packer.destroy(new Error("no memory")), 50);
      return packer;
    });
    const answer = await askFor("/endless", compressor.coding);
    expect(answer.complete).toBe(false);
    await until("an idle engine", isIdle);
    expect(service.events.at(-1)).toMatchObject({ kind: "call-cut", failure: { kind: "internal" } });
  });
});

describe("a client that does not read", () => {
  // Each format and each coding: what is held back is bytes, whatever they are.
  const stalls: readonly (readonly [string, string])[] = [
    ...compressible.map((format, index) => [format, codings[index % codings.length] ?? ""] as const),
    ["arrow", "identity"],
  ];

  test.each(stalls)("%s in %s is held back, then cut", async (format, coding) => {
    await using strict = await serviceFrom({
      "eider.yaml": "connections: { memory: {} }\nlimits: { stalled-client-timeout: 1s, max-buffered-bytes: 1MiB }\n",
      ...read("endless", ENDLESS_ROWS),
    });
    const responses: ServerResponse[] = [];
    const handle: RequestHandler = (request, response) => {
      responses.push(response);
      strict.app.handle(request, response);
    };
    const listener = await listen({ host: "127.0.0.1", port: 0, handle });
    const held = (): number => process.memoryUsage().arrayBuffers;
    const before = held();
    const client = get(`${listener.url}/endless?format=${format}`, {
      headers: { "accept-encoding": coding },
      agent: false,
    });
    const [answer] = (await once(client, "response")) as [IncomingMessage];
    answer.on("error", () => {});
    expect(answer.headers["content-encoding"] ?? "identity").toBe(coding);
    let most = 0;
    await until("a cut connection", () => {
      most = Math.max(most, held() - before);
      return responses[0]?.destroyed;
    });
    expect(most).toBeLessThan(48 * 1024 * 1024);
    await until("an idle engine", () => strict.service.engine.activity().running === 0);
    answer.resume();
    await until("the end", () => answer.destroyed);
    expect(answer.complete).toBe(false);
    await listener.close();
  });

  test.each(codings)("a slow one gets everything: %s", async (coding) => {
    const client = get(`${service.url}/rows`, { headers: { "accept-encoding": coding }, agent: false });
    const [answer] = (await once(client, "response")) as [IncomingMessage];
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      const pauses = Math.floor((bytes + chunk.length) / 50_000) - Math.floor(bytes / 50_000);
      bytes += chunk.length;
      if (pauses > 0) await new Promise((resolve) => setTimeout(resolve, 40));
    }
    expect(JSON.parse(unpacked(Buffer.concat(chunks), coding).toString())).toHaveLength(ROWS);
  });
});

test.each(others)("%s is never compressed", async (format) => {
  for (const path of ["/whole", "/rows"]) {
    const answer = await askFor(`${path}?format=${format}`, "gzip, br, zstd");
    expect([answer.status, answer.headers["content-encoding"]]).toEqual([200, undefined]);
  }
});
