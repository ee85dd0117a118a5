import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { serviceFrom, type TestService } from "../service.ts";
import { openSocket, type RawAnswer } from "../socket.ts";
import { until } from "../until.ts";

const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty"] as const;

let service: TestService;

beforeAll(async () => {
  const fields = (location: string, names: readonly string[] = NAMES) =>
    names.map((name) => `  - { field-name: ${name}, field-in: ${location} }\n`).join("");
  const select = (names: readonly string[]) => `SELECT ${names.map((name) => `{{params.${name}}} AS "${name}"`)}`;
  const read = "connection: memory\nwith-pagination: false\n";
  service = await serviceFrom({
    "eider.yaml": "connections: { memory: {} }\nlimits: { max-body-bytes: 1MiB }\n",
    "hello.yaml": `url-path: /hello\ntemplate-source: hello.sql\n${read}`,
    "hello.sql": "SELECT 'hello' AS say",
    "strict.yaml": `url-path: /strict\ntemplate-source: hello.sql\nrequest-fields-validation: true\n${read}`,
    "echo.yaml": `url-path: /echo\nmethod: POST\noperation: { type: Read }\ntemplate-source: echo.sql\n${read}request:\n${fields("query", ["q"])}${fields("body", ["b"])}${fields("header", ["x_word"])}`,
    "echo.sql": select(["q", "b", "x_word"]),
    "strict-body.yaml": `url-path: /strict-body\nmethod: POST\noperation: { type: Read }\nrequest-fields-validation: true\ntemplate-source: hello.sql\n${read}`,
    "names.yaml": `url-path: /names\ntemplate-source: names.sql\n${read}request:\n${fields("query")}`,
    "names-body.yaml": `url-path: /names-body\nmethod: POST\noperation: { type: Read }\ntemplate-source: names.sql\n${read}request:\n${fields("body")}`,
    "names-header.yaml": `url-path: /names-header\ntemplate-source: names-header.sql\n${read}request:\n${fields("header", NAMES.slice(1))}`,
    "names.sql": select(NAMES),
    "names-header.sql": select(NAMES.slice(1)),
    "path.yaml": `url-path: /path/:p\ntemplate-source: path.sql\n${read}request:\n${fields("path", ["p"])}`,
    "path.sql": select(["p"]),
    "slow.yaml": `url-path: /slow\ntemplate-source: slow.sql\n${read}`,
    "slow.sql": "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b",
  });
});
afterAll(() => service?.[Symbol.asyncDispose]());

/** Whatever was sent, nobody else notices: no call is left over, nothing unexpected was reported, all goes on. */
afterEach(async () => {
  await until("an idle engine", () => service.service.engine.activity().running === 0);
  expect(service.events.filter(({ kind }) => kind === "unexpected")).toEqual([]);
  expect(await service.json("/health")).toEqual({ status: "ok" });
  expect(await service.json("/hello")).toEqual([{ say: "hello" }]);
});

const HOST = "Host: x\r\n";
const get = (target: string, headers = ""): string => `GET ${target} HTTP/1.1\r\n${HOST}${headers}\r\n`;
const post = (headers: string, body: string, path = "/echo"): string =>
  `POST ${path} HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n${headers}\r\n${body}`;
const posted = (body: string | Buffer, path?: string): Buffer =>
  Buffer.concat([Buffer.from(post(`Content-Length: ${Buffer.byteLength(body)}\r\n`, "", path)), Buffer.from(body)]);
const CHUNKED = "Transfer-Encoding: chunked\r\n";

async function answerTo(bytes: string | Uint8Array): Promise<RawAnswer> {
  using socket = await openSocket(service.url);
  socket.send(bytes);
  const [answer] = await socket.take(1);
  if (answer === undefined) throw new Error("no answer");
  return answer;
}

/** What every refusal looks like, whatever part of the program gives it. */
function expectRefusal(answer: RawAnswer, status: number): void {
  expect([answer.status, answer.complete]).toEqual([status, true]);
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  const body = JSON.parse(answer.body);
  expect(Object.keys(body)).toEqual("errors" in body ? ["errors"] : ["error"]);
}

describe("malformed HTTP", () => {
  test.each<[string, string | Buffer, number]>([
    ["bytes of TLS", Buffer.from("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "latin1"), 400],
    ["no request line", "\x00\x00\x00\x00\r\n\r\n", 400],
    ["a method in lower case", get("/hello").replace("GET", "get"), 400],
    ["an unknown method", get("/hello").replace("GET", "BREW"), 400],
    ["a method of 64 KiB", get("/hello").replace("GET", "G".repeat(65_536)), 400],
    ["version 2.0", get("/hello").replace("1.1", "2.0"), 505],
    ["version 2.0 without a Host", "GET /hello HTTP/2.0\r\n\r\n", 505],
    ["version 2.0 with a body", post("Content-Length: 2\r\n", "{}").replace("1.1", "2.0"), 505],
    ["version 3.0", get("/hello").replace("1.1", "3.0"), 505],
    ["version 9.9", get("/hello").replace("1.1", "9.9"), 505],
    ["version 0.9", get("/hello").replace("1.1", "0.9"), 505],
    ["no version, as in HTTP/0.9", "GET /hello\r\n\r\n", 505],
    ["version 1.2, which Node does not read", get("/hello").replace("1.1", "1.2"), 400],
    ["version 2", get("/hello").replace("1.1", "2"), 400],
    ["version 11.1", get("/hello").replace("1.1", "11.1"), 400],
    ["version 1.x", get("/hello").replace("1.1", "1.x"), 400],
    ["another protocol", get("/hello").replace("HTTP/", "SIP/"), 400],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505],
    ["a target without a slash", get("hello"), 400],
    ["a space in the target", get("/he llo"), 400],
    ["NUL in the target", get("/he\0llo"), 400],
    ["lines that end with LF alone", "GET /hello HTTP/1.1\nHost: x\n\n", 400],
    ["lines that end with CR alone", "GET /hello HTTP/1.1\rHost: x\r\r", 400],
    ["a header without a colon", get("/hello", "nonsense\r\n"), 400],
    ["a header without a name", get("/hello", ": x\r\n"), 400],
    ["a space before the colon", get("/hello", "a : b\r\n"), 400],
    ["a folded header", get("/hello", "a: b\r\n c\r\n"), 400],
    ["NUL in a header", get("/hello", "a: b\0c\r\n"), 400],
    ["CR in a header", get("/hello", "a: b\rc\r\n"), 400],
    ["a control character in a header's name", get("/hello", "a\x01b: c\r\n"), 400],
    ["no Host", "GET /hello HTTP/1.1\r\n\r\n", 400],
    ["two Hosts", get("/hello", "Host: y\r\n"), 400],
    ["a header of 64 KiB", get("/hello", `a: ${"x".repeat(65_536)}\r\n`), 431],
    ["a header's name of 64 KiB", get("/hello", `${"x".repeat(65_536)}: a\r\n`), 431],
    ["10,000 small headers", get("/hello", "a: b\r\n".repeat(10_000)), 431],
    ["10,000 empty headers", get("/hello", "a:\r\n".repeat(10_000)), 431],
    ["1,500 empty headers before the Host", get("/hello").replace(HOST, `${"a:\r\n".repeat(1_500)}${HOST}`), 431],
    ["a target of 20 KiB", get(`/hello?a=${"x".repeat(20_000)}`), 431],
    ["an unknown expectation", get("/hello", "Expect: nonsense\r\n"), 417],
    ["an unknown expectation with a body", post("Expect: nonsense\r\nContent-Length: 2\r\n", "{}"), 417],
  ])("%s", async (_, bytes, status) => {
    const answer = await answerTo(bytes);
    expectRefusal(answer, status);
    expect(answer.headers.get("connection")).toBe("close");
  });

  test.each<[string, string]>([
    ["HTTP/1.0 without a Host", "GET /hello HTTP/1.0\r\n\r\n"],
    ["an empty Host", "GET /hello HTTP/1.1\r\nHost:\r\n\r\n"],
    ["empty lines first", `\r\n\r\n${get("/hello")}`],
    ["a long target", get(`/hello?a=${"x".repeat(10_000)}`)],
    ["a target in absolute form", get("http://elsewhere.example/hello?a=1")],
    ["an Upgrade to WebSocket", get("/hello", "Connection: Upgrade\r\nUpgrade: websocket\r\n")],
    ["an Upgrade to HTTP/2", get("/hello", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n")],
    ["a GET with a body", `${get("/hello", "Content-Length: 5\r\n")}hello`],
    ["900 small headers", get("/hello", "a: b\r\n".repeat(900))],
  ])("%s is fine", async (_, bytes) => {
    const answer = await answerTo(bytes);
    expect([answer.status, answer.body]).toEqual([200, '[{"say":"hello"}]']);
  });

  test.each<[string, string, number]>([
    ["TRACE", get("/hello").replace("GET", "TRACE"), 405],
    ["PROPFIND", get("/hello").replace("GET", "PROPFIND"), 405],
    ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", 405],
    ["*", get("*"), 404],
    ["OPTIONS *", get("*").replace("GET", "OPTIONS"), 404],
    ["absolute form without a path", get("http://elsewhere.example"), 404],
    ["a fragment", get("/hello#x"), 404],
    ["dots", get("/../../etc/passwd"), 404],
    ["encoded dots", get("/%2e%2e/%2e%2e/etc/passwd"), 404],
    ["%00 in the path", get("/hello%00"), 404],
    ["%zz in the path", get("/%zz"), 404],
    ["10,000 segments", get(`/${"a/".repeat(5_000)}`), 404],
  ])("%s", async (_, bytes, status) => {
    const answer = await answerTo(bytes);
    expectRefusal(answer, status);
    if (status === 405) expect(answer.headers.get("allow")).toContain("GET");
  });

  test("clients that reset after CONNECT, garbage or half a request", async () => {
    for (const bytes of ["CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "\0\0\0\r\n\r\n", get("/hello"), "GET /hel"]) {
      for (let count = 0; count < 20; count++) {
        const socket = await openSocket(service.url);
        socket.send(bytes);
        socket.reset();
      }
    }
    // Every connection has been heard of before this one: an error that nobody hears would have ended the process.
    expectRefusal(await answerTo(get("/nothing")), 404);
  });
});

describe("the length of a body", () => {
  const LENGTHS = ["-1", "+2", "0x2", "2.0", "2, 2", "2 2", "two", "", "99999999999999999999", "1e3"];
  test.each(LENGTHS)("Content-Length: %j", async (length) => {
    expectRefusal(await answerTo(post(`Content-Length: ${length}\r\n`, "{}")), 400);
  });

  test.each<[string, string, string]>([
    ["two lengths", "Content-Length: 2\r\nContent-Length: 3\r\n", "{} "],
    ["the same length twice", "Content-Length: 2\r\nContent-Length: 2\r\n", "{}"],
    ["a length and chunks", `Content-Length: 2\r\n${CHUNKED}`, "2\r\n{}\r\n0\r\n\r\n"],
    ["chunks and a length", `${CHUNKED}Content-Length: 2\r\n`, "2\r\n{}\r\n0\r\n\r\n"],
    ["a coding like chunked", "Transfer-Encoding: xchunked\r\n", "2\r\n{}\r\n0\r\n\r\n"],
    ["chunked, but not last", "Transfer-Encoding: chunked, identity\r\n", "2\r\n{}\r\n0\r\n\r\n"],
    ["identity", "Transfer-Encoding: identity\r\n", "{}"],
    ["a vertical tab before chunked", "Transfer-Encoding:\x0bchunked\r\n", "2\r\n{}\r\n0\r\n\r\n"],
    ["a space before the colon", "Transfer-Encoding : chunked\r\nContent-Length: 2\r\n", "{}"],
    ["a chunk whose size is no number", CHUNKED, "zz\r\n{}\r\n0\r\n\r\n"],
    ["a chunk of negative size", CHUNKED, "-2\r\n{}\r\n0\r\n\r\n"],
    ["a chunk whose size overflows", CHUNKED, "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n"],
    ["a chunk longer than its size", CHUNKED, "2\r\n{}xx\r\n0\r\n\r\n"],
    ["chunks that end with LF alone", CHUNKED, "2\n{}\n0\n\n"],
    ["a chunk extension of 100 KB", CHUNKED, `2;${"a".repeat(100_000)}\r\n{}\r\n0\r\n\r\n`],
  ])("%s", async (_, headers, body) => {
    expectRefusal(await answerTo(post(headers, body)), 400);
  });

  test.each(["gzip, chunked", "gzip,chunked", "identity, chunked", "x-gzip;q=1 , Chunked", "a, b, chunked"])(
    "a coding that nobody has below the chunks: Transfer-Encoding: %s",
    async (coding) => {
      for (const request of [
        post(`Transfer-Encoding: ${coding}\r\n`, ""),
        get("/hello", `Transfer-Encoding: ${coding}\r\n`),
      ]) {
        const answer = await answerTo(`${request}2\r\n{}\r\n0\r\n\r\n`);
        expectRefusal(answer, 501);
        expect([answer.body, answer.headers.get("connection")]).toEqual(['{"error":"Not Implemented"}', "close"]);
      }
    },
  );

  test.each(["gzip", "identity", "chunked, chunked", ", chunked", "", "gzip, chunked\r\nContent-Length: 2"])(
    "nobody knows where a body ends, of a GET neither: Transfer-Encoding: %j",
    async (coding) => {
      expectRefusal(await answerTo(`${get("/hello", `Transfer-Encoding: ${coding}\r\n`)}0\r\n\r\n`), 400);
    },
  );

  test("what follows a refused request on its connection is not handled", async () => {
    using socket = await openSocket(service.url);
    const before = service.events.length;
    socket.send(
      `${post("Transfer-Encoding: gzip, chunked\r\n", "2\r\n{}\r\n0\r\n\r\n")}${get("/nothing")}${get("/hello")}`,
    );
    await socket.untilClosed();
    expect(socket.answers().map(({ status }) => status)).toEqual([501]);
    expect(service.events.slice(before)).toEqual([]);
  });

  test("trailers without end", async () => {
    expectRefusal(await answerTo(post(CHUNKED, `2\r\n{}\r\n0\r\n${"X-T: 1\r\n".repeat(20_000)}\r\n`)), 431);
  });

  test("a body that is shorter than it says: the rest is waited for, and the end of it is an error", async () => {
    using socket = await openSocket(service.url);
    socket.send(post("Content-Length: 20\r\n", "{}"));
    expect(await service.json("/health")).toEqual({ status: "ok" });
    expect(socket.received().length).toBe(0);
    socket.endSending();
    const [answer] = await socket.take(1);
    expectRefusal(answer as RawAnswer, 400);
  });

  test("a body that is longer than it says: the rest is no request", async () => {
    using socket = await openSocket(service.url);
    socket.send(post("Content-Length: 2\r\n", "{}SMUGGLED / HTTP/1.1\r\n\r\n"));
    const [first, second] = await socket.take(2);
    expect([first?.status, JSON.parse(first?.body ?? "")]).toEqual([200, [{ q: null, b: null, x_word: null }]]);
    expectRefusal(second as RawAnswer, 400);
    await socket.untilClosed();
  });

  test("chunks with extensions and trailers are fine", async () => {
    const answer = await answerTo(post(CHUNKED, '4;a=b\r\n{"b"\r\n3\r\n:1}\r\n0\r\nX-Word: trailer\r\n\r\n'));
    expect(JSON.parse(answer.body)).toEqual([{ q: null, b: "1", x_word: null }]);
  });
});

describe("over the limit", () => {
  const TOO_LARGE = '{"errors":[{"field":"body","message":"Request body is too large"}]}';

  test("a length that is too large is refused before the body comes", async () => {
    const answer = await answerTo(post("Content-Length: 999999999999\r\n", "{"));
    expectRefusal(answer, 413);
    expect([answer.body, answer.headers.get("connection")]).toEqual([TOO_LARGE, "close"]);
  });

  test("chunks without end: the client sees the answer while it still sends", async () => {
    using socket = await openSocket(service.url);
    socket.send(post(CHUNKED, ""));
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    let sent = 0;
    const answered = (async () => {
      while (socket.answers().length === 0 && sent < 1_000) {
        socket.send(chunk);
        sent++;
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const [answer] = await socket.take(1);
    await answered;
    expectRefusal(answer as RawAnswer, 413);
    expect(answer?.body).toBe(TOO_LARGE);
    expect(sent).toBeGreaterThan(15);
    await socket.untilClosed();
  });
});

describe("text that is none", () => {
  test.each<[string, string | Buffer, number, string]>([
    ["%zz in a value", get("/hello?a=%zz"), 400, "a"],
    ["half an escape", get("/hello?a=%4"), 400, "a"],
    ["%zz in a name", get("/hello?%zz=a"), 400, "%zz"],
    ["escapes that are not UTF-8", get("/hello?a=%ff%fe"), 400, "a"],
    ["an overlong escape", get("/hello?a=%c0%af"), 400, "a"],
    ["a surrogate in escapes", get("/hello?a=%ed%a0%80"), 400, "a"],
    ["%zz in a path parameter", get("/path/%zz"), 400, "p"],
    ["bytes in a path parameter", get("/path/%ff"), 400, "p"],
  ])("%s", async (_, bytes, status, field) => {
    const answer = await answerTo(bytes);
    expectRefusal(answer, status);
    expect(JSON.parse(answer.body)).toEqual({ errors: [{ field, message: "Invalid percent-encoding" }] });
  });

  test.each<[string, Buffer]>([
    ["in the query", Buffer.from("GET /hello?a=\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n", "latin1")],
    ["in the path", Buffer.from("GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n", "latin1")],
    ["in the name of a header", Buffer.from("GET /hello HTTP/1.1\r\nHost: x\r\n\xff\xfe: a\r\n\r\n", "latin1")],
  ])("bare bytes beyond ASCII %s", async (_, bytes) => {
    expectRefusal(await answerTo(bytes), 400);
  });

  test.each<[string, Buffer, string]>([
    ["UTF-8", Buffer.from("wörd €"), "wörd €"],
    ["Latin-1", Buffer.from("w\xf6rd", "latin1"), "wörd"],
    ["no text at all", Buffer.from("\xff\xfe\x80", "latin1"), "\u00ff\u00fe\u0080"],
    ["a percent sign", Buffer.from("100% %zz"), "100% %zz"],
  ])("a header of %s is a value", async (_, value, expected) => {
    const [head, rest] = post("X-Word: @\r\nContent-Length: 2\r\n", "{}").split("@");
    const answer = await answerTo(Buffer.concat([Buffer.from(head ?? ""), value, Buffer.from(rest ?? "")]));
    expect([answer.status, JSON.parse(answer.body)]).toEqual([200, [{ q: null, b: null, x_word: expected }]]);
  });

  test.each<[string, Buffer]>([
    ["bytes that are not UTF-8", Buffer.from('{"b":"\xff"}', "latin1")],
    ["UTF-16", Buffer.from('{"b":"x"}', "utf16le")],
    ["NUL", Buffer.from("\0")],
    ["NUL in a string", Buffer.from('{"b":"\0"}')],
    ["half an object", Buffer.from('{"b":')],
    ["two objects", Buffer.from('{"b":1}{"b":2}')],
    ["a comma too many", Buffer.from('{"b":1,}')],
    ["gzip", Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])],
    ["100,000 open brackets", Buffer.from("[".repeat(100_000))],
    ["100,000 open objects", Buffer.from('{"b":'.repeat(100_000))],
  ])("a body of %s", async (_, body) => {
    const answer = await answerTo(posted(body));
    expectRefusal(answer, 400);
    expect(JSON.parse(answer.body)).toEqual({
      errors: [{ field: "body", message: "Request body is not valid JSON" }],
    });
  });

  test.each<[string, string, string]>([
    ["\\ud800 alone", '{"b":"\\ud800"}', "b"],
    ["\\udc00 before \\ud800", '{"b":"\\udc00\\ud800"}', "b"],
  ])("a body with %s", async (_, body, field) => {
    const answer = await answerTo(posted(body));
    expectRefusal(answer, 400);
    expect(JSON.parse(answer.body)).toEqual({ errors: [{ field, message: "Invalid string format" }] });
  });

  test.each<[string, string]>([
    ["[", "]"],
    ['{"b":', "}"],
  ])("values nested 100,000 deep: %s", async (open, close) => {
    const deep = `${open.repeat(100_000)}1${close.repeat(100_000)}`;
    const answer = await answerTo(posted(`{"b":${deep}}`));
    expect([answer.status, JSON.parse(answer.body)]).toEqual([200, [{ q: null, b: deep, x_word: null }]]);
  });

  test("%00 is a character like any other", async () => {
    const answer = await answerTo(
      post("Content-Length: 16\r\n", '{"b":"a\\u0000b"}').replace("/echo", "/echo?q=%00x%00"),
    );
    expect([answer.status, JSON.parse(answer.body)]).toEqual([200, [{ q: "\0x\0", b: "a\0b", x_word: null }]]);
  });
});

describe("names", () => {
  test("the first of repeated parameters counts, ten thousand of them do no harm", async () => {
    const answer = await answerTo(
      post("Content-Length: 2\r\n", "{}").replace("/echo", `/echo?q=first${"&q=x".repeat(2_000)}`),
    );
    expect(JSON.parse(answer.body)).toEqual([{ q: "first", b: null, x_word: null }]);
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`f${index}`, index]));
    expect((await answerTo(posted(JSON.stringify({ ...many, b: 1 })))).status).toBe(200);
  });

  test("names that every object has are absent until they are sent", async () => {
    expect((await answerTo(get("/names"))).body).toBe(`[{${NAMES.map((name) => `"${name}":null`)}}]`);
    expect((await answerTo(posted("{}", "/names-body"))).body).toBe(`[{${NAMES.map((name) => `"${name}":null`)}}]`);
    expect((await answerTo(get("/names-header"))).body).toBe(`[{${NAMES.slice(1).map((name) => `"${name}":null`)}}]`);
  });

  test("and are values like any other when they are", async () => {
    const query = NAMES.map((name, index) => `${name}=${index}`).join("&");
    const expected = `[{${NAMES.map((name, index) => `"${name}":"${index}"`)}}]`;
    expect((await answerTo(get(`/names?${query}`))).body).toBe(expected);
    const body = `{${NAMES.map((name, index) => `"${name}":"${index}"`)}}`;
    expect((await answerTo(posted(body, "/names-body"))).body).toBe(expected);
    const headers = NAMES.map((name, index) => `${name}: ${index}\r\n`).join("");
    expect((await answerTo(get("/names-header", headers))).body).toBe(
      `[{${NAMES.map((name, index) => `"${name}":"${index}"`).slice(1)}}]`,
    );
  });

  test.each(NAMES)("%s is unknown where nobody declared it", async (name) => {
    const errors = [{ field: name, message: "Unknown parameter not defined in endpoint configuration" }];
    const query = await answerTo(get(`/strict?${name}=1`));
    expectRefusal(query, 400);
    expect(JSON.parse(query.body)).toEqual({ errors });
    const body = await answerTo(posted(`{"${name}":{"b":1}}`, "/strict-body"));
    expectRefusal(body, 400);
    expect(JSON.parse(body.body)).toEqual({ errors });
    expect((await answerTo(get(`/hello?${name}=1`, `${name}: 1\r\n`))).status).toBe(200);
    expect(({} as Record<string, unknown>)["b"]).toBeUndefined();
  });
});

describe("connections", () => {
  test("a request that arrives byte by byte", async () => {
    using socket = await openSocket(service.url);
    for (const byte of posted('{"b":"€"}')) {
      socket.send(Uint8Array.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const [answer] = await socket.take(1);
    expect(JSON.parse(answer?.body ?? "")).toEqual([{ q: null, b: "€", x_word: null }]);
  });

  test("slow senders keep nobody waiting", async () => {
    const slow = await Promise.all(Array.from({ length: 200 }, () => openSocket(service.url)));
    for (const [index, socket] of slow.entries()) {
      socket.send(index % 2 === 0 ? "GET /hello HTTP/1.1\r\nHost: x\r\nX-Slow: " : post("Content-Length: 9\r\n", "{"));
    }
    expect(await service.json("/hello")).toEqual([{ say: "hello" }]);
    // They are served as soon as they come to an end.
    slow[0]?.send("1\r\n\r\n");
    expect((await slow[0]?.take(1))?.[0]?.status).toBe(200);
    for (const socket of slow) socket.close();
  });

  test("clients that leave in the middle of a body", async () => {
    const before = service.events.length;
    for (const leave of ["close", "reset", "endSending"] as const) {
      for (const headers of ["Content-Length: 1000\r\n", CHUNKED]) {
        const socket = await openSocket(service.url);
        socket.send(post(headers, headers === CHUNKED ? "2\r\n{" : "{"));
        await service.json("/health");
        socket[leave]();
        if (leave === "endSending") await socket.untilClosed();
      }
    }
    expect(service.events.slice(before).filter(({ kind }) => kind !== "call-failed")).toEqual([]);
  });

  test("requests in one go are answered in their order", async () => {
    using socket = await openSocket(service.url);
    socket.send([get("/hello"), get("/nothing"), get("/health"), get("/path/x")].join(""));
    expect((await socket.take(4)).map(({ status, body }) => `${status} ${body}`)).toEqual([
      '200 [{"say":"hello"}]',
      '404 {"error":"Not Found"}',
      '200 {"status":"ok"}',
      '200 [{"p":"x"}]',
    ]);
  });

  test("what is malformed does not take the answers before it", async () => {
    using socket = await openSocket(service.url);
    socket.send(`${get("/hello")}${get("/path/y")}nonsense\r\n\r\nmore nonsense\r\n\r\n`);
    const [first, second, third] = await socket.take(3);
    expect([first?.body, second?.body]).toEqual(['[{"say":"hello"}]', '[{"p":"y"}]']);
    expectRefusal(third as RawAnswer, 400);
    await socket.untilClosed();
    expect(socket.answers().length).toBe(3);
  });

  test("a thousand requests in one go", async () => {
    using socket = await openSocket(service.url);
    socket.send(get("/health").repeat(1_000));
    const answers = await socket.take(1_000);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test("a client that says it will send no more has left: its query ends", async () => {
    using socket = await openSocket(service.url);
    socket.send(get("/slow"));
    await until("the query", () => service.service.engine.activity().running === 1);
    socket.endSending();
    await until("the end of the query", () => service.service.engine.activity().running === 0);
    await socket.untilClosed();
  });
});
