import fc from "fast-check";
import { expect, test } from "vitest";
import { identityOf, joinNames, splitNames } from "./identity.ts";

test.each<[string, readonly string[], string]>([
  ["ordinary names stay as they are", ["admin", "100%", "50%off", "a b", "%2", "%20"], "admin,100%,50%off,a b,%2,%20"],
  ["a comma", ["a,b", ","], "a%2Cb,%2C"],
  ["what would look like one", ["a%2Cb", "%2c"], "a%252Cb,%252c"],
  ["what would look like that", ["%252C", "%25"], "%25252C,%2525"],
])("%s", (_, names, joined) => {
  expect(joinNames(names)).toBe(joined);
  expect(splitNames(joined)).toEqual(names);
});

test("no two lists of names become one string", () => {
  const name = fc
    .array(fc.constantFrom("%", "2", "5", "C", "c", ",", "a", "%2C", "%25"), { minLength: 1, maxLength: 6 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(name), (names) => {
      expect(splitNames(joinNames(names))).toEqual(names);
    }),
    { numRuns: 2_000 },
  );
});

test("a role cannot pretend to be two", () => {
  const identity = identityOf({ type: "bearer", username: "ann", roles: ["read,admin"], groups: ["x,admin"] });
  expect(identity.get("roles")?.text.split(",")).not.toContain("admin");
  expect(identity.get("groups")?.text.split(",")).not.toContain("admin");
});
