import { expect, test } from "vitest";
import type { Parameter } from "../../params/parameter.ts";
import { openResourceAddresses, resourceAddress } from "./resource-address.ts";

const parameter = (name: string): Parameter => ({
  name,
  in: "query",
  description: undefined,
  required: false,
  default: undefined,
  validators: [],
});

const named = (name: string, ...parameters: readonly string[]) => ({
  name,
  address: resourceAddress(name, parameters.map(parameter), "x"),
});

const addresses = openResourceAddresses([
  named("a/{id}", "id", "q"),
  named("a/{id}/lines", "id"),
  named("a/{id}/{what}", "id", "what"),
  named("a/fixed"),
  named("50% of ü [x]"),
  named("file-{name}.txt", "name"),
  named("pair/{a}-{b}", "a", "b"),
]);

test.each([
  ["x://a/1", "a/{id}", { id: "1" }],
  ["x://a/b%2Fc", "a/{id}", { id: "b/c" }],
  ["x://a/%252F", "a/{id}", { id: "%2F" }],
  ["x://a/ü?q=a+b%2B", "a/{id}", { id: "ü", q: "a b+" }],
  ["x://a/1?q=a=b&&id=2", "a/{id}", { id: "1", q: "a=b" }],
  ["x://a/1#part", "a/{id}", { id: "1" }],
  ["x://a/1/lines", "a/{id}/lines", { id: "1" }],
  ["x://a/1/other", "a/{id}/{what}", { id: "1", what: "other" }],
  ["x://a/fixed", "a/fixed", {}],
  ["x://%61/fixed?z=1", "a/fixed", { z: "1" }],
  ["x://50%25%20of%20%c3%bc%20%5Bx%5D", "50% of ü [x]", {}],
  ["x://50% of ü [x]", "50% of ü [x]", {}],
  ["x://file-a.b.txt", "file-{name}.txt", { name: "a.b" }],
  ["x://pair/1-2-3%2d4", "pair/{a}-{b}", { a: "1-2-3", b: "4" }],
])("%s is %s with %j", (uri, name, args) => {
  const found = addresses.find(uri);
  expect(found?.resource.name).toBe(name);
  expect(Object.fromEntries([...(found?.args ?? [])].map(([key, { text }]) => [key, text]))).toEqual(args);
});

test.each([
  "x://a",
  "x://a/",
  "x://a/1/2/3",
  "X://a/1",
  "x:/a/1",
  "x://a/%ff",
  "x://a/1?q=%e0",
  "x://\ud800",
  "x://pair/-1",
])("%j matches no resource", (uri) => expect(addresses.find(uri)).toBeUndefined());

test("a URI that is too long matches no resource", () => {
  expect(addresses.find(`x://a/${"1".repeat(16_000)}`)?.resource.name).toBe("a/{id}");
  expect(addresses.find(`x://a/${"1".repeat(17_000)}`)).toBeUndefined();
});
