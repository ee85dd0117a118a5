import { expect, test } from "vitest";
import type { ServiceEvent } from "../events.ts";
import { openLogger } from "./logger.ts";

const HOSTILE = "a\nb\r\u001b[2J\u009b1m\u007f\u2028\u202e\u2066";

function lines(format: "json" | "pretty", event: ServiceEvent): string {
  let text = "";
  const write = (line: string): void => {
    text += line;
  };
  openLogger({ level: "trace", format, write, now: () => new Date(0) }).report(event);
  return text;
}

const events: readonly ServiceEvent[] = [
  { kind: "dependency-down", dependency: HOSTILE, message: HOSTILE },
  { kind: "cache-refresh-failed", cache: HOSTILE, message: HOSTILE, retryMs: undefined },
  {
    kind: "query-ran",
    requestId: "1",
    endpoint: HOSTILE,
    connections: [HOSTILE],
    status: 200,
    ms: 1,
    rows: 1,
    sql: HOSTILE,
    parameters: [HOSTILE],
  },
  { kind: "unexpected", requestId: "1", error: new Error(HOSTILE) },
];

test.each(events)("$kind is one line in which nothing acts on a terminal", (event) => {
  for (const format of ["json", "pretty"] as const) {
    const text = lines(format, event);
    expect(text.endsWith("\n")).toBe(true);
    expect(text.slice(0, -1)).toMatch(/^[^\p{Cc}\u2028-\u202e\u2066-\u2069]+$/u);
    expect(text).toContain("\\u001b[2J");
  }
});

test.each([
  [
    { kind: "several-rows" },
    "warn",
    "the query returned several rows, but the endpoint has 'returns: one'; make its condition unique, or add LIMIT 1",
  ],
  [{ kind: "no-row" }, "debug", "no-row"],
  [
    {
      kind: "constraint-failed",
      constraint: "unique",
      message: 'Duplicate key "mail: a@b.c"',
      masked: "Duplicate key",
    },
    "debug",
    "constraint failed: Duplicate key",
  ],
] as const)("%j", (failure, level, message) => {
  const event = { kind: "call-failed", requestId: "1", endpoint: "GET /x", failure, cause: undefined } as const;
  expect(JSON.parse(lines("json", event))).toMatchObject({ level, message, endpoint: "GET /x" });
});

test("a response that fails midway leaves its cause", () => {
  const failure = { kind: "query-failed", message: "Invalid Input Error: broken" } as const;
  const event = { kind: "call-cut", requestId: "1", endpoint: "GET /x", failure } as const;
  expect(JSON.parse(lines("json", event))).toMatchObject({
    level: "warn",
    message: "response aborted: query failed: Invalid Input Error: broken",
    endpoint: "GET /x",
  });
});
