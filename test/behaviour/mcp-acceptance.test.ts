import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** The acceptance list has 38 points, A1 to A39; there is no A38. Each names the tests that hold it. */
test("every point of the acceptance list of MCP has a test that names it", () => {
  const root = join(import.meta.dirname, "..");
  const files = ["behaviour", "real", "stress"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => /mcp-.*\.test\.ts$/.test(name))
      .map((name) => readFileSync(join(root, folder, name), "utf8")),
  );
  const named = new Set(files.flatMap((text) => [...text.matchAll(/["`](A\d+)\b/g)].map(([, number]) => number)));
  const points = Array.from({ length: 39 }, (_, index) => `A${index + 1}`).filter((number) => number !== "A38");
  expect(points.filter((number) => !named.has(number))).toEqual([]);
});
