import { expect, test } from "vitest";
import type { FinishedRequest } from "../rest/observe-request.ts";
import type { Output } from "./command.ts";
import { requestLine } from "./request-line.ts";

const pipe: Output = { isTerminal: false, write() {} };
const terminal: Output = { isTerminal: true, write() {} };
const request: FinishedRequest = {
  method: "GET",
  path: "/nowhere",
  status: 200,
  ms: 3.12,
  call: undefined,
};
// Only what is shown of a call matters here.
const call = { endpoint: "GET /customers/:id", rows: 2, cache: "hit" } as FinishedRequest["call"];

test.each([
  [request, "GET /nowhere 200 3.1 ms"],
  [{ ...request, call }, "GET /customers/:id 200 2 rows 3.1 ms hit"],
  [{ ...request, status: 404, ms: 12.6 }, "GET /nowhere 404 13 ms"],
  [{ ...request, path: "/a\u001b[31m\u0007b\u202e" }, "GET /a\\u001b[31m\\u0007b\\u202e 200 3.1 ms"],
  [{ ...request, path: "/docs/assets/1/page.js" }, undefined],
  [{ ...request, path: "/docs/events" }, undefined],
])("%j is a plain line in a pipe", (answered, line) => {
  expect(requestLine(answered, pipe)).toBe(line);
});

test.each([
  [200, "\u001b[32m200\u001b[0m"],
  [304, "\u001b[32m304\u001b[0m"],
  [400, "\u001b[33m400\u001b[0m"],
  [503, "\u001b[31m503\u001b[0m"],
])("status %i has its colour on a terminal, and columns", (status, coloured) => {
  const line = requestLine({ ...request, status, call }, terminal);
  expect(line).toBe(
    `GET    /customers/:id                           ${coloured} \u001b[2m     2 rows    3.1 ms hit\u001b[0m`,
  );
});
