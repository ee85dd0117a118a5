import { expect, test } from "vitest";
import { readTraceparent, writeTraceparent } from "./traceparent.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test("what is read is written the same", () => {
  const header = `00-${TRACE}-${SPAN}-01`;
  expect(readTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN, flags: 1 });
  expect(writeTraceparent({ traceId: TRACE, spanId: SPAN, flags: 1 })).toBe(header);
});

test("a later version is read as far as it is known", () => {
  expect(readTraceparent(`cc-${TRACE}-${SPAN}-00-what-comes-later`)).toEqual({
    traceId: TRACE,
    spanId: SPAN,
    flags: 0,
  });
});

test.each([
  undefined,
  "",
  "nonsense",
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${"0".repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01\n`.repeat(2),
])("%o is none", (header) => {
  expect(readTraceparent(header)).toBeUndefined();
});
