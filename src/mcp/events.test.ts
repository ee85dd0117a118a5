import { expect, test } from "vitest";
import { uriMatcher } from "./events.ts";

test.each([
  ["svc://a", "svc://a", true],
  ["svc://a", "svc://a?x=1", true],
  ["svc://a", "svc://ab", false],
  ["svc://a/{id}", "svc://a/1", true],
  ["svc://a/{id}", "svc://a/{id}", true],
  ["svc://a/{id}", "svc://a/1?x=2", true],
  ["svc://a/{id}", "svc://a/1/2", false],
  ["svc://a/{id}", "svc://a/", false],
  ["svc://a{?x,y}", "svc://a", true],
  ["svc://a{?x,y}", "svc://a?y=1", true],
  ["svc://a.b", "svc://axb", false],
])("%s means %s: %s", (uri, watched, meant) => {
  expect(uriMatcher(uri)(watched)).toBe(meant);
});
