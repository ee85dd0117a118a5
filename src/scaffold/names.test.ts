import { expect, test } from "vitest";
import { parameterName, slugOf, takeName } from "./names.ts";

test.each([
  ["trips 2024", "trips-2024"],
  ["Größe (cm)", "gro-e-cm"],
  ["Müller & Søn", "muller-s-n"],
  ["名前", "data"],
  ["--a__b--", "a__b"],
  ["../../etc/passwd", "etc-passwd"],
  ["", "data"],
])("the slug of %j is %j", (name, slug) => {
  expect(slugOf(name, "-")).toBe(slug);
});

test.each([
  ["a b", "a_b"],
  ["名前", "名前"],
  ["e\u0301", "\u00e9"],
  ["it's {{x}}", "it_s_x_"],
  ["!", "_"],
])("the parameter for the column %j is %j", (column, name) => {
  expect(parameterName(column)).toBe(name);
});

test("a taken name gets a number", () => {
  const taken = new Set(["a", "a_2"]);
  expect([takeName("a", taken), takeName("a", taken), takeName("b", taken)]).toEqual(["a_3", "a_4", "b"]);
});
