import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { sharedMcp } from "../mcp-program.ts";
import { mcpServer, mcpSettings, taskSettings } from "../mcp-server.ts";
import { conformance, testWithMcpTools } from "../mcp-tools.ts";

/** The real program with the project in test/fixtures/mcp. What is not expected to pass stands in the baseline, with reasons. */
const baseline = join(import.meta.dirname, "mcp-baseline-product.yml");
const shared = sharedMcp();

async function conforms(url: string, args: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "eider-mcp-"));
  try {
    const { code, stdout, stderr } = await conformance(["server", "--url", url, ...args, "-o", folder]);
    expect([code, code === 0 ? "" : stdout.slice(stdout.indexOf("=== SUMMARY")) + stderr]).toEqual([0, ""]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

for (const [number, revision] of [
  ["A1", "2025-11-25"],
  ["A2", "2026-07-28"],
]) {
  testWithMcpTools(`${number} the program conforms to ${revision}, but for its baseline`, async () => {
    const program = await shared();
    await conforms(program.mcp, ["--requirements", revision ?? "", "--expected-failures", baseline]);
    expect(program.stderr()).not.toContain("unexpected");
  });
}

for (const scenario of [
  "tasks-lifecycle",
  "tasks-wire-fields",
  "tasks-capability-negotiation",
  "tasks-request-headers",
]) {
  testWithMcpTools(`A24 ${scenario} of the core, with tools made for it`, async () => {
    await using mcp = await mcpServer({ settings: mcpSettings({ tasks: taskSettings }) });
    await conforms(mcp.url, ["--suite", "all", "--scenario", scenario]);
  });
}
