import { expect, test } from "vitest";
import { insertConnection } from "./insert-connection.ts";

const OPTIONS = { type: "parquet", path: "p" };

test.each([
  ["no connections", "a: 1\n", "a: 1\nconnections:\n  z:\n    type: parquet\n    path: p\n"],
  ["no line end", "a: 1", "a: 1\nconnections:\n  z:\n    type: parquet\n    path: p\n"],
  ["an empty file", "", "connections:\n  z:\n    type: parquet\n    path: p\n"],
  [
    "other connections, with their indentation",
    "connections: # all\n\n    # mine\n    m: {}\nb: 1\n",
    "connections: # all\n    z:\n      type: parquet\n      path: p\n\n    # mine\n    m: {}\nb: 1\n",
  ],
  [
    "Windows line ends",
    "connections:\r\n  m:\r\n",
    "connections:\r\n  z:\r\n    type: parquet\r\n    path: p\r\n  m:\r\n",
  ],
  ["flow style", "connections: { m: {} }\n", undefined],
  ["an include", "connections: {{include:connections from x.yaml}}\n", undefined],
])("%s", (_, text, expected) => {
  expect(insertConnection(text, "z", OPTIONS)).toBe(expected);
});
