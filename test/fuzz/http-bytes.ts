import fc from "fast-check";
import { openSocket } from "../socket.ts";
import { mutations } from "./mutate.ts";
import { listenForFuzz } from "./program.ts";
import { must, target } from "./target.ts";

/** What one client sends over one connection, in which pieces, and how it leaves. */
interface Script {
  /** One character for each byte. */
  readonly segments: readonly string[];
  readonly end: "half" | "close" | "reset";
}

/** Without HEAD: the body that it has not got cannot be told from the next answer. */
const method = fc.constantFrom(
  "GET",
  "POST",
  "PUT",
  "DELETE",
  "PATCH",
  "OPTIONS",
  "TRACE",
  "CONNECT",
  "PROPFIND",
  "get",
  "",
);
const path = fc.constantFrom(
  ...[
    "/hello",
    "/hello?a=1",
    "/items?limit=3",
    "/items?limit=x&offset=-1",
    "/path/a/1",
    "/path/%zz/1",
    "/echo",
    "/typed",
  ],
  ...[
    "/write",
    "/private",
    "/health",
    "/docs",
    "/openapi.json",
    "*",
    "//",
    "/../..",
    "http://x/hello",
    "",
    "/%00",
    "/a b",
  ],
);
const header = fc.constantFrom(
  ...["Host: x", "Host: x", "Host:", "Host: y", "Connection: close", "Connection: keep-alive, Upgrade", "Upgrade: h2c"],
  ...[
    "Expect: 100-continue",
    "Expect: x",
    "Content-Type: application/json",
    "Content-Type: text/plain",
    "Accept: text/csv",
  ],
  ...[
    "Accept: */*;q=0",
    "Accept-Encoding: gzip, br",
    "Content-Length: 2",
    "Content-Length: 0",
    "Content-Length: 99999999",
  ],
  ...["Content-Length: -1", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: x"],
  ...[
    "Authorization: Basic eDp5",
    "Authorization: Bearer a.b.c",
    "Range: bytes=0-1",
    "If-None-Match: *",
    "X-Word: \xff\xfe",
  ],
  ...[
    "Idempotency-Key: 1",
    "Origin: null",
    "Trailer: X",
    "a : b",
    "no colon",
    " folded",
    "X: \0",
    `X: ${"y".repeat(20_000)}`,
  ],
);
const body = fc.constantFrom(
  ...[
    "",
    "{}",
    '{"b":1}',
    "[1]",
    "{",
    '{"b":"\\ud800"}',
    "2\r\n{}\r\n0\r\n\r\n",
    "2\r\n{}\r\n",
    "0\r\n\r\n",
    "zz\r\n",
    "ffffffff\r\n{}",
  ],
  ...["2;x=y\r\n{}\r\n0\r\nA: b\r\n\r\n", "0\r\nA\r\n\r\n", "\0\0\0\0", "\xff\xfe{\0}\0", "5\r\n{}\r\n0\r\n\r\n"],
);

const bytes = fc
  .array(
    fc
      .tuple(
        method,
        path,
        fc.constantFrom("HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9"),
        fc.array(header, { maxLength: 6 }),
        body,
      )
      .map(
        ([verb, to, version, headers, rest]) =>
          `${verb} ${to} ${version}\r\n${["Host: x", ...headers].join("\r\n")}\r\n\r\n${rest}`,
      ),
    { minLength: 1, maxLength: 4 },
  )
  .map((requests) => requests.join(""));

const junk = [
  "\r\n",
  "\r\n\r\n",
  "\n",
  "\r",
  "\0",
  " ",
  "\t",
  ":",
  "\xff",
  "%",
  "HTTP/1.1",
  "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
  "0\r\n\r\n",
];

const script: fc.Arbitrary<Script> = fc
  .tuple(
    fc.oneof(
      bytes,
      mutations(bytes, junk),
      fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) }),
    ),
    fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
    fc.constantFrom("half", "half", "close", "reset"),
  )
  .map(([text, cuts, end]) => ({ segments: split(text, cuts), end: end as Script["end"] }));

function split(text: string, cuts: readonly number[]): readonly string[] {
  const places = [0, ...cuts.map((cut) => Math.floor(cut * text.length)).sort((a, b) => a - b), text.length];
  return places.slice(1).map((place, index) => text.slice(places[index], place));
}

/** Long enough for an answer, short enough for many runs: half of the scripts never get one. */
const LISTEN_MS = 12;
const LIMIT_MS = 10_000;

async function play(url: string, { segments, end }: Script): Promise<void> {
  using socket = await openSocket(url);
  for (const segment of segments) {
    socket.send(Buffer.from(segment, "latin1"));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const deadline = performance.now() + LISTEN_MS;
  while (!socket.isClosed() && socket.received().length === 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  socket[end]();
  if (end === "half") await socket.closed(LIMIT_MS);
  for (const { status, body: text, headers, complete } of socket.answers()) {
    must(status < 500, () => `status ${status}: ${text.slice(0, 500)}`);
    if (status >= 400 && complete && headers.get("content-type") === "application/json") JSON.parse(text);
  }
}

/** Bytes that may be HTTP, several clients at once. */
export const httpBytes = target({
  name: "http-bytes",
  share: 0.25,
  inputs: fc.array(script, { minLength: 1, maxLength: 4 }),
  open: async () => {
    const program = await listenForFuzz();
    return {
      async check(scripts) {
        await Promise.all(scripts.map((one) => play(program.url, one)));
        await program.isWell();
      },
      [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
    };
  },
});
