import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { testRegistry } from "../mcp-registry.ts";
import { mcpServer, mcpSettings, openGate, taskSettings } from "../mcp-server.ts";
import { conformance, testWithMcpTools } from "../mcp-tools.ts";

/** The protocol core with tools made for the suite. What it is not expected to pass stands in the baseline, with reasons. */
const baseline = join(import.meta.dirname, "mcp-baseline-core.yml");
const settings = mcpSettings({ tasks: taskSettings });

for (const revision of ["2025-11-25", "2026-07-28"]) {
  testWithMcpTools(`the core conforms to ${revision}, but for its baseline`, async () => {
    const extra = { tools: [] as string[], prompts: [] as string[] };
    const change = (list: "tools" | "prompts"): void => {
      extra[list].push(`new_${extra[list].length}`);
      mcp.server.replace(testRegistry(extra, change), openGate, settings);
    };
    await using mcp = await mcpServer({ service: testRegistry(extra, change), settings });
    const folder = await mkdtemp(join(tmpdir(), "eider-mcp-"));
    try {
      const args = ["--url", mcp.url, "--requirements", revision, "--expected-failures", baseline, "-o", folder];
      const { code, stdout, stderr } = await conformance(["server", ...args]);
      expect([code, code === 0 ? "" : stdout.slice(stdout.indexOf("=== SUMMARY")) + stderr]).toEqual([0, ""]);
    } finally {
      await rm(folder, { recursive: true });
    }
    expect(mcp.events).toEqual([]);
  });
}
