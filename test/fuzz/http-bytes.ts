import fc from "fast-check";
import { openSocket } from "../socket.ts";
import { isBusy } from "./answers.ts";
import { mutations } from "./mutate.ts";
import { listenForFuzz } from "./program.ts";
import { must, target } from "./target.ts";
import { words } from "./words.ts";

/** What one client sends over one connection, in which pieces, and how it leaves. */
interface Script {
  /** One character for each byte. */
  readonly segments: readonly string[];
  readonly end: "endSending" | "close" | "reset";
}

/** Without HEAD: the body that it has not got cannot be told from the next answer. */
const method = fc.constantFrom(...words.methods);
const path = fc.constantFrom(...words.paths);
const header = fc.constantFrom(...words.headerLines, `X: ${"y".repeat(20_000)}`);
const body = fc.constantFrom(...words.bodies);

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

const junk = words.junk;

const script: fc.Arbitrary<Script> = fc
  .tuple(
    fc.oneof(
      bytes,
      mutations(bytes, junk),
      fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) }),
    ),
    fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
    fc.constantFrom("endSending", "endSending", "close", "reset"),
  )
  .map(([text, cuts, end]) => ({ segments: split(text, cuts), end: end as Script["end"] }));

function split(text: string, cuts: readonly number[]): readonly string[] {
  const places = [0, ...cuts.map((cut) => Math.floor(cut * text.length)).sort((a, b) => a - b), text.length];
  return places.slice(1).map((place, index) => text.slice(places[index], place));
}

/** Long enough for an answer, short enough for many runs: half of the scripts never get one. */
const LISTEN_MS = 12;

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
  if (end === "endSending") await socket.untilClosed();
  for (const { status, body: text, headers, complete } of socket.answers()) {
    const isRefused = status === 501 || status === 505;
    must(
      status < 500 || isRefused || isBusy(status, headers.get("retry-after")),
      () => `status ${status}: ${text.slice(0, 500)}`,
    );
    if (status >= 400 && complete && headers.get("content-type") === "application/json") JSON.parse(text);
  }
}

/** Bytes that may be HTTP, several clients at once. */
export const httpBytes = target({
  name: "http-bytes",
  share: 0.2,
  inputs: fc.array(script, { minLength: 1, maxLength: 4 }),
  open: async () => {
    const program = await listenForFuzz();
    return {
      async check(scripts) {
        await Promise.all(scripts.map((one) => play(program.url, one)));
        await program.isWell();
      },
      [Symbol.asyncDispose]: () => program.isWell(),
    };
  },
});
