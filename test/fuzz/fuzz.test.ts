import { afterAll, expect, test } from "vitest";
import { httpBytes } from "./http-bytes.ts";
import { bodies, headers, queries } from "./http-requests.ts";
import { mcpMessages } from "./mcp-messages.ts";
import { endProgram } from "./program.ts";
import { checkedProjects, yamlFiles } from "./projects.ts";
import type { Target } from "./target.ts";
import { templates } from "./templates.ts";

/**
 * Everything that reads what others wrote. A new one is a file with a `target` and a line here. EIDER_FUZZ_SECONDS is the
 * time for all of them together. What is found is added to `cases/`, and is tried first ever after.
 */
const targets: readonly Target[] = [
  httpBytes,
  queries,
  headers,
  bodies,
  mcpMessages,
  templates,
  yamlFiles,
  checkedProjects,
];

afterAll(endProgram);

test.each(targets)("$name: what was found before", async ({ replay }) => {
  expect(await replay()).toBeGreaterThan(0);
});

for (const { name, search, timeoutMs } of targets) {
  test(`${name}: whatever comes`, async () => expect(await search()).toBeGreaterThan(0), timeoutMs);
}
