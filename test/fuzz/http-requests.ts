import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { mustBeSound, send } from "./answers.ts";
import { mutations } from "./mutate.ts";
import { listenForFuzz } from "./program.ts";
import { must, target } from "./target.ts";
import { words } from "./words.ts";

/** Opens the program and asks after its health from time to time. */
async function session<Input>(ask: (url: string, input: Input) => Promise<void>) {
  const program = await listenForFuzz();
  let count = 0;
  return {
    async check(input: Input): Promise<void> {
      await ask(program.url, input).catch(async (error: unknown) => {
        await program.isWell();
        throw error;
      });
      if (++count % 20 === 0) await program.isWell();
    },
    [Symbol.asyncDispose]: () => program.isWell(),
  };
}

/** What HTTP lets stand in a target. */
const inTarget = (text: string): string => text.replace(/[^!-~]/g, encodeURIComponentSafely).replaceAll("#", "%23");

function encodeURIComponentSafely(character: string): string {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}

const queryWords = words.queries;
const pieces = (words: readonly string[], maxLength = 12): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof({ arbitrary: fc.constantFrom(...words), weight: 5 }, fc.string({ unit: "binary", maxLength: 3 })), {
      maxLength,
    })
    .map((parts) => parts.join(""));

/** Query strings and path segments. */
export const queries = target({
  name: "queries",
  share: 0.1,
  inputs: fc.record({
    path: fc.constantFrom("/items", "/hello", "/path", "/docs"),
    text: pieces(queryWords).map(inTarget),
  }),
  open: () =>
    session<{ readonly path: string; readonly text: string }>(async (url, { path, text }) => {
      const mark = path === "/path" ? "/" : "?";
      const answer = await send(url, { method: "GET", path: `${path}${mark}${text}`, headers: {} });
      mustBeSound(answer);
      if (
        path === "/hello" &&
        !/(?:^|&)(?:limit|offset|format)\b/.test(decodeLoosely(text)) &&
        !/%(?![0-9a-f]{2})/i.test(text)
      ) {
        must([200, 400].includes(answer.status), () => `status ${answer.status}`);
      }
    }),
});

function decodeLoosely(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}

const headerNames = words.headerNames;
const headerWords = [...words.headers, "1".repeat(300)];
/** RFC 9110: visible characters, spaces and tabs inside, bytes beyond ASCII. */
const inHeader = (text: string): string =>
  [...Buffer.from(text).toString("latin1")]
    .filter((character) => character === "\t" || (character >= " " && character !== "\x7f"))
    .join("")
    .trim();

/** Headers of requests that are well-formed otherwise. */
export const headers = target({
  name: "headers",
  share: 0.1,
  inputs: fc.record({
    method: fc.constantFrom("GET", "GET", "HEAD", "OPTIONS", "POST", "PUT"),
    path: fc.constantFrom("/hello", "/items", "/private", "/token", "/echo", "/write", "/docs", "/health/ready"),
    headers: fc.dictionary(fc.constantFrom(...headerNames), pieces(headerWords, 6).map(inHeader), {
      maxKeys: 5,
      noNullPrototype: true,
    }),
  }),
  open: () =>
    session<{ readonly method: string; readonly path: string; readonly headers: Record<string, string> }>(
      async (url, options) => {
        mustBeSound(await send(url, options));
      },
    ),
});

const jsonWords = [...words.json, ...["[", "]", '{"a":', "}", "9"].map((unit) => unit.repeat(5_000))];
const validJson = fc
  .dictionary(fc.oneof(fc.constantFrom("b", "c", "id", "q", "__proto__"), fc.string()), fc.jsonValue({ maxDepth: 4 }), {
    noNullPrototype: true,
  })
  .map((value) => JSON.stringify(value));
const latin1 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

/** Bodies, with one character for each byte; what a JSON parser makes of them tells what the answer must be. */
export const bodies = target({
  name: "bodies",
  share: 0.1,
  inputs: fc.record({
    path: fc.constantFrom("/echo", "/typed"),
    bytes: fc.oneof(
      validJson.map(latin1),
      mutations(validJson, jsonWords).map(latin1),
      mutations(validJson.map(latin1), ["\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf0\x9f", "\0", "\xef\xbb\xbf"]).map(
        (text) => text.replace(/[\u0100-\uffff]/g, "\xfe"),
      ),
      pieces(jsonWords).map(latin1),
    ),
  }),
  open: () =>
    session<{ readonly path: string; readonly bytes: string }>(async (url, { path, bytes }) => {
      const body = Buffer.from(bytes, "latin1");
      const answer = await send(url, { method: "POST", path, headers: { "Content-Type": "application/json" } }, body);
      mustBeSound(answer);
      if (path === "/echo") mustAgree(answer.status, answer.body.toString("utf8"), objectIn(body));
    }),
});

/** The object that a body holds, or undefined. */
function objectIn(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  if (body.length === 0) return {};
  try {
    const value = isUtf8(body) ? JSON.parse(body.toString("utf8").replace(/^\ufeff/, "")) : undefined;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function mustAgree(status: number, text: string, object: Readonly<Record<string, unknown>> | undefined): void {
  if (object === undefined) {
    must(status === 400 && text.includes('"field":"body"'), () => `no object, but ${status} ${text.slice(0, 300)}`);
    return;
  }
  const broken = ["b", "c"].filter(
    (name) => typeof object[name] === "string" && !(object[name] as string).isWellFormed(),
  );
  must(status === (broken.length > 0 ? 400 : 200), () => `an object, but ${status} ${text.slice(0, 300)}`);
  if (status !== 200) return;
  const { b } = JSON.parse(text)[0];
  if (typeof object["b"] === "string") must(b === object["b"], () => `b is ${JSON.stringify(b)}`);
  if (object["b"] === undefined || object["b"] === null) must(b === null, () => `b is ${JSON.stringify(b)}`);
}
