import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bearerToken, parseAuthorization, userAndPassword } from "./authorization.ts";

const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString("base64");

describe("scheme and credentials", () => {
  test.each([
    ["Bearer abc", { scheme: "bearer", credentials: "abc" }],
    ["bEARER abc.def-_~+/==", { scheme: "bearer", credentials: "abc.def-_~+/==" }],
    ["Basic YTpi", { scheme: "basic", credentials: "YTpi" }],
    ["DPoP x", { scheme: "dpop", credentials: "x" }],
  ])("%j", (header, expected) => expect(parseAuthorization(header)).toEqual(expected));

  test.each([
    ["nothing", undefined],
    ["empty", ""],
    ["a space", " "],
    ["no space", "Bearer"],
    ["no credentials", "Bearer "],
    ["no scheme", " abc"],
    ["two spaces", "Bearer  abc"],
    ["a space before", " Bearer abc"],
    ["a space after", "Bearer abc "],
    ["a tab", "Bearer\tabc"],
    ["a second credential", "Bearer abc, Bearer def"],
    ["the same again", "Bearer abc,Bearer abc"],
    ["a control character", "Bearer ab\u0001c"],
    ["a NUL", "Bearer abc\0"],
    ["a line", "Bearer abc\n"],
    ["a letter that is not ASCII", "Bearer abcä"],
    ["parameters", 'Digest username="a", realm="b"'],
    ["a quoted scheme", '"Bearer" abc'],
    ["64 KiB", `Bearer ${"a".repeat(64 * 1024)}`],
  ])("%s is nothing usable", (_, header) => {
    expect(parseAuthorization(header)).toBeUndefined();
    expect(bearerToken(header)).toBeUndefined();
    expect(userAndPassword(header)).toBeUndefined();
  });

  test("a token only of its own scheme", () => {
    expect(bearerToken("Basic YTpi")).toBeUndefined();
    expect(userAndPassword("Bearer YTpi")).toBeUndefined();
  });

  test("never throws", () => {
    const text = fc.oneof(fc.string({ unit: "binary", maxLength: 100 }), fc.string());
    fc.assert(
      fc.property(fc.constantFrom("", "Basic ", "Bearer "), text, (scheme, rest) => {
        bearerToken(scheme + rest);
        userAndPassword(scheme + rest);
      }),
    );
  });
});

describe("user and password", () => {
  test.each([
    ["plain", "alice:secret", "alice", "secret"],
    ["colons in the password", "alice:a:b::c", "alice", "a:b::c"],
    ["nothing but a colon", ":", "", ""],
    ["UTF-8", "zoë:pässwörd 🔑", "zoë", "pässwörd 🔑"],
    ["a mark at the start", "\ufeffalice:x", "\ufeffalice", "x"],
    ["spaces", " alice : x ", " alice ", " x "],
  ])("%s", (_, text, username, password) => {
    expect(userAndPassword(`Basic ${base64(text)}`)).toEqual({ username, password });
  });

  test.each([
    ["a:?>?>", "Basic YTo/Pj8+"],
    ["a:?>?>", "Basic YTo_Pj8-"],
    ["a:bc", "Basic YTpiYw=="],
    ["a:bc", "Basic YTpiYw"],
    ["a:b", "BASIC YTpi"],
    ["a:bcd", "Basic YTpiY2Q="],
    ["a:bcd", "Basic YTpiY2Q"],
  ])("%j is %j", (text, header) => {
    const [username, password] = text.split(":");
    expect(userAndPassword(header)).toEqual({ username, password });
  });

  test.each([
    ["not base64", "Basic !!!!"],
    ["too much padding", "Basic YTpi===="],
    ["padding that is too short", "Basic YTpiYw="],
    ["padding inside", "Basic YT=pi"],
    ["a letter too many", "Basic YTpiY"],
    ["bits that belong to no byte", "Basic YTpiYx=="],
    ["no colon", `Basic ${base64("alice")}`],
    ["no UTF-8", `Basic ${base64(Uint8Array.of(0x61, 0x3a, 0xff))}`],
    ["half a character", `Basic ${base64(Uint8Array.of(0x61, 0x3a, 0xc3))}`],
    ["half a pair", `Basic ${base64(Uint8Array.of(0x61, 0x3a, 0xed, 0xa0, 0x80))}`],
    ["a NUL", `Basic ${base64("a\0b:c")}`],
    ["a line", `Basic ${base64("a:b\n")}`],
    ["DEL", `Basic ${base64("a:b\u007f")}`],
    ["two joined", "Basic YTpi,YTpi"],
    ["not encoded", "Basic alice:secret"],
  ])("%s is nothing usable", (_, header) => expect(userAndPassword(header)).toBeUndefined());
});
