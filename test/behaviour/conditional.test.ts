import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formats } from "../../src/formats/index.ts";
import { listen, type RequestHandler } from "../../src/http/listen.ts";
import { compressors } from "../../src/rest/response/compressors.ts";
import { type RawResponse, sendRequest } from "../ask.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { openSocket } from "../socket.ts";
import { until } from "../until.ts";

function read(path: string, sql: string, yaml = "with-pagination: false\n"): Files {
  return {
    [`${path}.yaml`]: `url-path: /${path}\ntemplate-source: ${path}.sql\nconnection: memory\n${yaml}`,
    [`${path}.sql`]: sql,
  };
}

const ROWS = "SELECT range AS n, 'name ' || range AS name FROM range(200)";

const BUFFERED = read("buffered", "SELECT range AS n, hash(range) AS h FROM range(700000)");

const WRITE = "method: POST\noperation: { type: write }\n";
const FROM = "with-pagination: false\nrequest: [{ field-name: from, field-in: query, validators: [{ type: int }] }]\n";

let service: TestService;
beforeAll(async () => {
  service = await serviceFrom({
    "eider.yaml": "connections: { memory: {} }\nlimits: { max-buffered-bytes: 20MiB }\n",
    ...read("small", "SELECT 1 AS n"),
    ...read("none", "SELECT 1 AS n WHERE false"),
    ...read("rows", ROWS),
    ...read("page", ROWS, "with-pagination: true\n"),
    ...read("post", ROWS, "method: POST\noperation: { type: read }\nwith-pagination: false\n"),
    // Several pieces. The second is more than sockets hold; as Arrow it is still buffered.
    ...read("pieces", "SELECT range AS n, hash(range) AS h FROM range(30000)"),
    ...BUFFERED,
    ...read("endless", "SELECT range AS n, hash(range) AS h FROM range(100000000)"),
  });
});
afterAll(() => service?.[Symbol.asyncDispose]());

const get = (path: string, headers: Record<string, string> = {}): Promise<RawResponse> =>
  sendRequest(service.url + path, { headers });

/** All headers but those that differ from answer to answer. */
function headersOf({ headers }: RawResponse): Record<string, unknown> {
  const { date: _date, "x-request-id": id, "transfer-encoding": _chunked, ...rest } = headers;
  expect(id).toMatch(/./);
  return rest;
}

const tagOf = (body: Buffer): string => `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;

const rowFormats = formats.filter(({ kind }) => kind === "rows").map(({ name }) => name);
const names = formats.map(({ name }) => name);
const paths = ["/small", "/none", "/rows", "/page?limit=150", "/page?limit=1&offset=199"];
const withFormat = (path: string, format: string): string => `${path}${path.includes("?") ? "&" : "?"}format=${format}`;

describe.each(rowFormats)("%s", (format) => {
  test.each(paths)("%s: a tag of its bytes, and 304 for clients that have them", async (path) => {
    const url = withFormat(path, format);
    const whole = await get(url);
    const { etag = "" } = whole.headers;
    expect(etag).toBe(tagOf(whole.body));
    expect(Number(whole.headers["content-length"])).toBe(whole.body.length);
    const other = '"other"';
    // What a header may hold is tried at one of them.
    const known = [`W/${etag}`, `${other}, ${etag}`, `${other},W/${etag},"x"`, "*", " * ", `"a,b",${etag}`];
    const unknown = ["", etag.slice(1, -1), etag.slice(0, -1), `"${etag}"`.replaceAll('""', '"x'), "**"];
    for (const have of [etag, ...(path === "/rows" ? known : [])]) {
      const answer = await get(url, { "if-none-match": have });
      expect([have, answer.status, answer.body.length]).toEqual([have, 304, 0]);
      const { "content-type": _type, "content-length": _length, ...rest } = headersOf(whole);
      expect(headersOf(answer)).toEqual(rest);
    }
    for (const have of [other, ...(path === "/rows" ? unknown : [])]) {
      const answer = await get(url, { "if-none-match": have });
      expect([have, answer.status]).toEqual([have, 200]);
      expect(answer.body.equals(whole.body)).toBe(true);
    }
  });

  test.each(compressors)("$coding has a weak tag, which stands for the same rows", async ({ coding }) => {
    const url = withFormat("/rows", format);
    const plain = await get(url);
    const packed = await get(url, { "accept-encoding": coding });
    const isPacked = packed.headers["content-encoding"] === coding;
    expect(packed.headers.etag).toBe(isPacked ? `W/${plain.headers.etag}` : plain.headers.etag);
    for (const have of [String(plain.headers.etag), String(packed.headers.etag)]) {
      const answer = await get(url, { "accept-encoding": coding, "if-none-match": have });
      expect([answer.status, answer.headers["content-encoding"]]).toEqual([304, undefined]);
      expect((await get(url, { "if-none-match": have })).status).toBe(304);
    }
  });
});

describe.each(names)("HEAD as %s", (format) => {
  // The engine may write the rows of a large file in another order each time, and then in more or fewer bytes.
  const of = rowFormats.includes(format) ? [...paths, "/pieces"] : paths;
  test.each(of.map((path, index) => [path, index] as const))("%s has the headers of GET", async (path, index) => {
    // The codings take turns.
    const compressor = compressors[(names.indexOf(format) + index) % compressors.length];
    for (const coding of ["identity", compressor?.coding ?? ""]) {
      const headers = { "accept-encoding": coding };
      const whole = await get(withFormat(path, format), headers);
      const head = await sendRequest(service.url + withFormat(path, format), { method: "HEAD", headers });
      expect([head.status, head.body.length]).toEqual([200, 0]);
      expect(headersOf(head)).toEqual(headersOf(whole));
      if (whole.headers.etag === undefined) continue;
      const known = await sendRequest(service.url + withFormat(path, format), {
        method: "HEAD",
        headers: { ...headers, "if-none-match": whole.headers.etag },
      });
      expect([known.status, known.headers.etag]).toEqual([304, whole.headers.etag]);
    }
  });
});

describe("HEAD of what would be streamed", () => {
  test.each(rowFormats)("%s: no length, no tag, and the query stops", async (format) => {
    const url = `${service.url}/endless?format=${format}`;
    const head = await sendRequest(url, { method: "HEAD", headers: { "if-none-match": "*" } });
    expect(head.status).toBe(200);
    expect(head.headers).not.toHaveProperty("content-length");
    expect(head.headers).not.toHaveProperty("etag");
    await until("an idle engine", () => service.service.engine.activity().running === 0);
  });

  test("the connection goes on", async () => {
    using socket = await openSocket(service.url);
    const line = " HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n";
    socket.send(`HEAD /endless${line}`);
    await until("the head", () => socket.received().includes("\r\n\r\n"));
    const head = socket.received().length;
    socket.send(`GET /small${line}`);
    const rest = await until("the next answer", () => {
      const bytes = socket.received().subarray(head).toString();
      return bytes.endsWith('[{"n":1}]') && bytes;
    });
    expect(rest).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});

describe("Arrow that is buffered", () => {
  test("has its length and a tag, in however many pieces it is", async () => {
    const answer = await get("/buffered?format=arrow");
    expect(answer.body.length).toBeGreaterThan(10 * 1024 * 1024);
    expect(Number(answer.headers["content-length"])).toBe(answer.body.length);
    expect((await get("/buffered?format=arrow")).headers.etag).toBe(answer.headers.etag);
    const again = await get("/buffered?format=arrow", { "if-none-match": String(answer.headers.etag) });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });

  test("a long body has the tag of its data: another after a change of its tables, none where nobody knows", async () => {
    const rows = "SELECT range AS n, hash(range) AS h FROM range(100000)";
    const files: Files = {
      "eider.yaml": `connections: { memory: { init: "CREATE TABLE t AS ${rows}; CREATE TABLE other AS SELECT 1 AS n" } }\n`,
      ...read("table", "SELECT * FROM t"),
      ...read("from", "SELECT * FROM t WHERE n >= {{params.from}}", FROM),
      ...read("timed", "SELECT *, now() AS time FROM t"),
      ...read("change-t", "UPDATE t SET h = 0 WHERE n = 0", WRITE),
      ...read("change-other", "UPDATE other SET n = 2", WRITE),
    };
    await using changing = await serviceFrom(files);
    const tagAt = async (path: string): Promise<unknown> => {
      const answer = await sendRequest(`${changing.url}${path}`);
      expect(answer.body.length).toBeGreaterThan(1024 * 1024);
      return answer.headers.etag;
    };
    const tag = await tagAt("/table?format=arrow");
    expect(tag).toMatch(/^W\/"[\w-]{22}"$/);
    expect(await tagAt("/table?format=arrow")).toBe(tag);
    expect(await tagAt("/table?format=arrow&x=1")).not.toBe(tag);
    expect(await tagAt("/from?format=arrow&from=1")).not.toBe(await tagAt("/from?format=arrow&from=2"));
    const post = async (path: string): Promise<void> => {
      expect((await sendRequest(`${changing.url}${path}`, { method: "POST" })).status).toBe(200);
    };
    await post("/change-other");
    expect(await tagAt("/table?format=arrow")).toBe(tag);
    await post("/change-t");
    const after = await tagAt("/table?format=arrow");
    expect([typeof after, after === tag]).toEqual(["string", false]);
    const headers = { "if-none-match": String(tag) };
    expect((await sendRequest(`${changing.url}/table?format=arrow`, { headers })).status).toBe(200);
    expect(await tagAt("/timed?format=arrow")).toBeUndefined();
    await using again = await serviceFrom(files);
    expect((await sendRequest(`${again.url}/table?format=arrow`)).headers.etag).not.toBe(tag);
  });

  test("is streamed beyond limits.max-buffered-bytes", async () => {
    await using other = await serviceFrom({
      "eider.yaml": "connections: { memory: {} }\nlimits: { max-buffered-bytes: 1KiB }\n",
      ...read("small", "SELECT 1 AS n"),
      ...read("rows", "SELECT range AS n FROM range(2000)"),
    });
    const small = await sendRequest(`${other.url}/small?format=arrow`);
    expect(Number(small.headers["content-length"])).toBe(small.body.length);
    const rows = await sendRequest(`${other.url}/rows?format=arrow`);
    expect([rows.headers["transfer-encoding"], rows.headers.etag]).toEqual(["chunked", undefined]);
    expect(rows.body.length).toBeGreaterThan(16_000);
  });

  test("a client that never reads it is cut, and holds no slot", async () => {
    await using strict = await serviceFrom({
      "eider.yaml": "connections: { memory: {} }\nlimits: { max-buffered-bytes: 20MiB, stalled-client-timeout: 1s }\n",
      ...BUFFERED,
    });
    const responses: ServerResponse[] = [];
    const handle: RequestHandler = (request, response) => {
      responses.push(response);
      strict.app.handle(request, response);
    };
    const listener = await listen({ host: "127.0.0.1", port: 0, handle });
    using socket = await openSocket(listener.url);
    socket.pause();
    socket.send("GET /buffered?format=arrow HTTP/1.1\r\nHost: x\r\n\r\n");
    await until("the answer", () => responses[0]?.headersSent);
    await until("an idle engine", () => strict.service.engine.activity().running === 0);
    // What the sockets hold is all that comes.
    await until("a cut connection", () => responses[0]?.destroyed);
    socket.resume();
    await socket.untilClosed();
    expect(socket.answers()[0]).toMatchObject({ status: 200, complete: false });
    await listener.close();
  });
});

test("the same bytes have the same tag, others another", async () => {
  const { etag } = (await get("/small")).headers;
  expect((await get("/small?x=1")).headers.etag).toBe(etag);
  expect((await get("/none")).headers.etag).not.toBe(etag);
  expect((await get("/small?format=csv")).headers.etag).not.toBe(etag);
});

test("what a POST reads has no tag, and no condition", async () => {
  for (const have of ["*", '"x"']) {
    const answer = await sendRequest(`${service.url}/post`, { method: "POST", headers: { "if-none-match": have } });
    expect([answer.status, answer.headers.etag]).toEqual([200, undefined]);
    expect(Number(answer.headers["content-length"])).toBe(answer.body.length);
  }
});

test("errors have no tag, and a condition does not hide them", async () => {
  const answer = await get("/page?limit=x", { "if-none-match": "*" });
  expect([answer.status, answer.headers.etag]).toEqual([400, undefined]);
});

test.each(rowFormats)("Range is ignored: %s", async (format) => {
  const url = withFormat("/rows", format);
  const [plain, ranged] = [await get(url), await get(url, { range: "bytes=0-9" })];
  expect(ranged.status).toBe(200);
  expect(headersOf(ranged)).toEqual(headersOf(plain));
  expect(ranged.headers).not.toHaveProperty("accept-ranges");
});
