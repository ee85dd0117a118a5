import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCommandLine } from "../src/cli/run.ts";
import type { Endpoint } from "../src/endpoint/endpoint.ts";
import { basicHeader, readmeUsers } from "./readme-users.ts";
import { testRuntime } from "./runtime.ts";
import { serveFolder } from "./serve-folder.ts";

const root = join(import.meta.dirname, "..", "examples");

/** The path with 1 in the place of each parameter: an example must know what that is. */
const pathOf = (endpoint: Endpoint): string =>
  `/${(endpoint.route?.segments ?? []).map((segment) => (segment.kind === "text" ? segment.text : "1")).join("/")}`;

describe.each(readdirSync(root))("examples/%s", (name) => {
  test("passes its own tests, which cover it whole", async () => {
    // A new snapshot would be written into the repository.
    const runtime = testRuntime({ cwd: join(root, name), env: { CI: "true" } });
    const code = await runCommandLine(["test", "--coverage-min", "100"], runtime);
    expect([runtime.stderrText(), runtime.stdoutText()]).toEqual([
      "",
      expect.stringMatching(/\n[1-9]\d* passed, 0 failed\n$/),
    ]);
    expect(runtime.stdoutText()).not.toContain("hint:");
    expect(code).toBe(0);
  });

  test("loads without problems, and every endpoint answers with its defaults", async () => {
    await using example = await serveFolder(join(root, name));
    expect(example.problems).toEqual([]);
    const paths = example.service.endpoints.filter(({ route }) => route?.method === "GET").map(pathOf);
    expect(paths).not.toEqual([]);
    // The last user of a table in the README may see everything.
    const user = [...readmeUsers(join(root, name))].at(-1);
    const headers = user === undefined ? {} : basicHeader(...user);
    for (const path of paths) {
      const answer = await fetch(example.url + path, { headers });
      expect([path, answer.status]).toEqual([path, 200]);
      const body: unknown = await answer.json();
      const rows = Array.isArray(body) ? body : ((body as { data?: unknown[] }).data ?? [body]);
      expect([path, rows.length > 0]).toEqual([path, true]);
    }
  });
});
