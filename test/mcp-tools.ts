import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { testNeeding } from "./needing.ts";

/**
 * Somebody else's MCP programs: the conformance suite, the Inspector and the SDKs. They need Node 22 and much room, so they
 * are installed elsewhere (docs of CI say how), and EIDER_TEST_MCP_TOOLS names the folder with their `node_modules`.
 */
const folder = process.env["EIDER_TEST_MCP_TOOLS"];
const modules = join(folder ?? "/nonexistent", "node_modules");

const node = join(modules, "node/bin/node");
const packages = join(modules, "@modelcontextprotocol");
const suite = join(packages, "conformance/dist/index.js");
const inspectorFile = join(packages, "inspector/clients/launcher/build/index.js");

function whatIsMissing(): string | undefined {
  if (folder === undefined) return "no MCP tools; EIDER_TEST_MCP_TOOLS names their folder";
  const gone = [node, suite, inspectorFile].filter((file) => !existsSync(file));
  return gone.length === 0 ? undefined : `EIDER_TEST_MCP_TOOLS has no ${gone.join(", ")}`;
}

/** `test` where the tools are; elsewhere it is left out and says so, or fails under EIDER_TEST_REQUIRE=all. */
export const testWithMcpTools = testNeeding(whatIsMissing());

export interface ToolRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one of them to its end. Not in step: the server runs in this very process. */
function run(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<ToolRun> {
  // No keychain on servers, no colours in what is compared.
  const env = { ...process.env, MCP_INSPECTOR_SECRET_STORE: "memory", NO_COLOR: "1", ...more };
  return new Promise((done) => {
    execFile(node, [...args], { env, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      done({ code, stdout, stderr });
    });
  });
}

/** The conformance suite of the protocol: `server --url ... --requirements 2026-07-28`. */
export function conformance(args: readonly string[]): Promise<ToolRun> {
  return run([suite, ...args]);
}

/** The Inspector without its page: `http://... --transport http --method tools/list`. */
export function inspector(args: readonly string[]): Promise<ToolRun> {
  return run([inspectorFile, "--cli", ...args]);
}

/** A client of the new era that knows tasks. It works by a process of its own, which ends with the work. */
export async function withMcpdo(work: (mcpdo: (args: readonly string[]) => Promise<ToolRun>) => Promise<void>) {
  // Each has a home of its own: tests that run beside this one would share that process.
  const home = await mkdtemp(join(tmpdir(), "eider-mcpdo-"));
  const file = join(modules, "@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js");
  const mcpdo = (args: readonly string[]): Promise<ToolRun> =>
    run([file, "--format", "json", ...args], { HOME: home, MCP_STORAGE_DIR: home });
  try {
    await work(mcpdo);
  } finally {
    await mcpdo(["daemon", "stop"]);
    await rm(home, { recursive: true, force: true });
  }
}

/** Where `await import()` finds a file of the first SDK, which knows the old era: `client/index.js`. */
export function sdkV1(file: string): string {
  return pathToFileURL(join(packages, "sdk/dist/esm", file)).href;
}

/** Where `await import()` finds the client of the second SDK, which knows both. */
export function sdkV2Client(file = "index.mjs"): string {
  return pathToFileURL(join(packages, "client/dist", file)).href;
}
