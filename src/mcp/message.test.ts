import { expect, test } from "vitest";
import { parseMessages, rawMembers } from "./message.ts";
import { splitArray } from "./split-array.ts";

const one = (text: string) => {
  const parsed = parseMessages(text);
  return parsed.kind === "one" ? parsed.message : parsed;
};

test.each([
  ["1", "1"],
  ["-7", "-7"],
  ['"a\\u00e4\\n"', '"aä\\n"'],
  ["12345678901234567", "12345678901234567"],
  ["-9007199254740993", "-9007199254740993"],
  ["1.50", "1.50"],
  ["1.0", "1.0"],
  ["1E2", "1E2"],
  ["-0", "-0"],
  ["1e400", "1e400"],
  [`${"9".repeat(5_000)}`, "9".repeat(5_000)],
  ["null", "null"],
])("the id %s is echoed as %s", (id, echoed) => {
  expect(one(`{"jsonrpc":"2.0" , "id": ${id} ,"method":"ping"}`)).toMatchObject({ kind: "request", id: echoed });
});

test("the last of two ids counts, as it does for everybody else", () => {
  expect(one('{"id":1,"jsonrpc":"2.0","method":"ping","id":12345678901234567}')).toMatchObject({
    id: "12345678901234567",
  });
});

test.each([
  ["[1]", "a message is a JSON object"],
  ['"x"', "a message is a JSON object"],
  ["null", "a message is a JSON object"],
  ['{"id":1,"method":"a"}', 'jsonrpc must be "2.0"'],
  ['{"jsonrpc":"2.0","id":true,"method":"a"}', "id must be a text or a number"],
  ['{"jsonrpc":"2.0","id":{"a":1},"method":"a"}', "id must be a text or a number"],
  ['{"jsonrpc":"2.0","id":1}', "method must be a text"],
  ['{"jsonrpc":"2.0","id":1,"method":7}', "method must be a text"],
  ['{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}', "params must be an object"],
  ['{"jsonrpc":"2.0","id":1,"method":"a","params":null}', "params must be an object"],
])("%s is no message", (text, problem) => {
  const [message] = text === "[1]" ? (parseMessages(text) as { messages: readonly object[] }).messages : [one(text)];
  expect(message).toMatchObject({ kind: "invalid", problem: `Invalid Request: ${problem}` });
});

test("an id that can be read is kept for the answer, whatever else is wrong", () => {
  expect(one('{"jsonrpc":"1.0","id":"x","method":"a"}')).toMatchObject({ kind: "invalid", id: '"x"' });
});

test("messages without an id want no answer, and answers are told from requests", () => {
  expect(one('{"jsonrpc":"2.0","method":"tools/call"}')).toMatchObject({ kind: "notification" });
  expect(one('{"jsonrpc":"2.0","id":1,"result":{}}')).toEqual({ kind: "response" });
});

test.each([
  ["{", "not-json"],
  ["", "not-json"],
  ["[]", "bad-batch"],
  [`[${"1,".repeat(100)}1]`, "bad-batch"],
])("%s is %s", (text, kind) => {
  expect(parseMessages(text).kind).toBe(kind);
});

test("deep nesting is read without recursion", () => {
  const depth = 500_000;
  const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const text = `{"jsonrpc":"2.0","id":1e30,"method":"tools/call","params":{"arguments":{"a":${deep}}}}`;
  expect(one(text)).toMatchObject({ kind: "request", id: "1e30" });
  expect(rawMembers(text, ["params", "arguments"]).get("a")?.text).toBe(deep);
});

test("arguments keep every digit, and null counts as absent", () => {
  const text =
    '{"params":{"arguments":{"big":12345678901234567890,"exact":0.10,"no":null,"list":[1, 2.0],"yes":true}}}';
  expect(rawMembers(text, ["params", "arguments"])).toEqual(
    new Map([
      ["big", { kind: "text", text: "12345678901234567890" }],
      ["exact", { kind: "text", text: "0.10" }],
      ["list", { kind: "json", text: "[1, 2.0]" }],
      ["yes", { kind: "text", text: "true" }],
    ]),
  );
});

test.each([
  [' [ 1 , {"a":[1,2]} ] ', [" 1 ", ' {"a":[1,2]} ']],
  ['["a,]","\\"]["]', ['"a,]"', '"\\"]["']],
  ["[[],{}]", ["[]", "{}"]],
])("the entries of %s", (text, entries) => {
  expect(splitArray(text)).toEqual(entries);
});
