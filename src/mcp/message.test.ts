import { expect, test } from "vitest";
import { parseMessages, rawMembers } from "./message.ts";

const one = async (text: string) => {
  const parsed = await parseMessages(text);
  return parsed.kind === "one" ? parsed.message : parsed;
};

const argumentsIn = (message: Awaited<ReturnType<typeof one>>) =>
  message.kind === "request" ? (message.longArguments ?? new Map()) : new Map();

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
])("the id %s is echoed as %s", async (id, echoed) => {
  expect(await one(`{"jsonrpc":"2.0" , "id": ${id} ,"method":"ping"}`)).toMatchObject({ kind: "request", id: echoed });
});

test("the last of two IDs counts, as in JSON.parse", async () => {
  expect(await one('{"id":1,"jsonrpc":"2.0","method":"ping","id":12345678901234567}')).toMatchObject({
    id: "12345678901234567",
  });
});

test.each([
  ["[1]", "a message is a JSON object"],
  ['"x"', "a message is a JSON object"],
  ["null", "a message is a JSON object"],
  ['{"id":1,"method":"a"}', 'jsonrpc must be "2.0"'],
  ['{"jsonrpc":"2.0","id":true,"method":"a"}', "id must be a string or a number"],
  ['{"jsonrpc":"2.0","id":{"a":1},"method":"a"}', "id must be a string or a number"],
  ['{"jsonrpc":"2.0","id":1}', "method must be a string"],
  ['{"jsonrpc":"2.0","id":1,"method":7}', "method must be a string"],
  ['{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}', "params must be an object"],
  ['{"jsonrpc":"2.0","id":1,"method":"a","params":null}', "params must be an object"],
])("%s is no message", async (text, problem) => {
  const [message] =
    text === "[1]" ? ((await parseMessages(text)) as { messages: readonly object[] }).messages : [await one(text)];
  expect(message).toMatchObject({ kind: "invalid", problem: `Invalid Request: ${problem}` });
});

test("a valid ID is kept for the response, even if the message is invalid", async () => {
  expect(await one('{"jsonrpc":"1.0","id":"x","method":"a"}')).toMatchObject({ kind: "invalid", id: '"x"' });
});

test("messages without an ID are notifications, and responses are recognized", async () => {
  expect(await one('{"jsonrpc":"2.0","method":"tools/call"}')).toMatchObject({ kind: "notification" });
  expect(await one('{"jsonrpc":"2.0","id":1,"result":{}}')).toEqual({ kind: "response" });
});

test.each([
  ["{", "not-json"],
  ["", "not-json"],
  ["[]", "bad-batch"],
  [`[${"1,".repeat(100)}1]`, "bad-batch"],
])("%s is %s", async (text, kind) => {
  expect((await parseMessages(text)).kind).toBe(kind);
});

test("deep nesting is parsed without recursion", async () => {
  const depth = 500_000;
  const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const text = `{"jsonrpc":"2.0","id":1e30,"method":"tools/call","params":{"arguments":{"a":${deep}}}}`;
  const message = await one(text);
  expect(message).toMatchObject({ kind: "request", id: "1e30", params: { arguments: {} } });
  expect(argumentsIn(message).get("a")?.text).toBe(deep);
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

const LONG = "x".repeat(100_000);
const long = (rest: string, args: string): string => `{"jsonrpc":"2.0","id":7,"method":"m","params":{${rest}${args}}}`;

test("the arguments of a long message are separate, and the last of repeated ones counts", async () => {
  const args = `"arguments":{"a":1.10,"a":0.10,"b":"${LONG}","c":{"d":[1.0]},"n":null}`;
  const message = await one(
    long('"name":"t","arguments":[1],', `${args},"_meta":{"progressToken":12345678901234567890}`),
  );
  expect(message).toMatchObject({ id: "7", params: { name: "t", arguments: {} } });
  expect([...argumentsIn(message)]).toEqual([
    ["a", { kind: "text", text: "0.10" }],
    ["b", { kind: "text", text: LONG }],
    ["c", { kind: "json", text: '{"d":[1.0]}' }],
  ]);
  expect(message.kind === "request" && rawMembers(message.text, ["params", "_meta"])).toEqual(
    new Map([["progressToken", { kind: "text", text: "12345678901234567890" }]]),
  );
});

test.each([
  ["not JSON", `${long("", `"arguments":{"a":"${LONG}"}`)}}`, { kind: "not-json" }],
  [
    "no arguments",
    long(`"name":"${LONG}"`, ""),
    { kind: "invalid", id: "7", problem: /at most 64 KiB besides its arguments/ },
  ],
  ["long beside", long(`"name":"${LONG}",`, '"arguments":{}'), { kind: "invalid", problem: /at most 64 KiB beside/ }],
  ["no params", `{"jsonrpc":"2.0","id":7,"method":"${LONG}"}`, { kind: "invalid", problem: /at most 64 KiB beside/ }],
  ["a list of arguments", long("", `"arguments":["${LONG}"]`), { kind: "request", params: { arguments: [] } }],
  ["a text", `"${LONG}"`, { kind: "invalid", problem: /at most 64 KiB/ }],
  [
    "too many arguments",
    long("", `"arguments":{${Array.from({ length: 9_000 }, (_, index) => `"${index}":1`)}}`),
    { kind: "invalid", id: "7", problem: /more than 1000 arguments/ },
  ],
])("a long message: %s", async (_, text, expected) => {
  const problem = "problem" in expected ? { problem: expect.stringMatching(expected.problem ?? "") } : {};
  expect(await one(text)).toMatchObject({ ...expected, ...problem });
});

test("a long batch", async () => {
  const parsed = await parseMessages(`[${long("", `"arguments":{"a":"${LONG}"}`)}, ${long("", '"arguments":{}')}]`);
  expect(parsed).toMatchObject({ kind: "batch", messages: [{ id: "7" }, { id: "7", params: { arguments: {} } }] });
  expect(await parseMessages(`[${"1,".repeat(100_000)}1]`)).toMatchObject({ kind: "bad-batch" });
});
