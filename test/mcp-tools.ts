import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { testNeeding } from "./needing.ts";

/**
 * Third-party MCP programs: the conformance suite, the Inspector and the SDKs. They need Node 22 and much disk space, so CI
 * installs them elsewhere. EIDER_TEST_MCP_TOOLS is the folder with their `node_modules`.
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

/** `test` if the tools are installed. Otherwise, the test is skipped, or fails with EIDER_TEST_REQUIRE=all. */
export const testWithMcpTools = testNeeding(whatIsMissing());

export interface ToolRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. Asynchronous, because the server runs in this process. */
function run(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<ToolRun> {
  // Use no keychain, which servers lack, and no colours in output that tests compare.
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

/** A client for protocol version 2026-07-28 with tasks. It starts a daemon, which is stopped after `work`. */
export async function withMcpdo(work: (mcpdo: (args: readonly string[]) => Promise<ToolRun>) => Promise<void>) {
  // Each has its own home folder, because parallel tests would otherwise share the daemon.
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

/** The URL of a file of SDK version 1, such as `client/index.js`, for `import()`. It supports older protocol versions. */
export function sdkV1(file: string): string {
  return pathToFileURL(join(packages, "sdk/dist/esm", file)).href;
}

/** The URL of the client of SDK version 2, for `import()`. It supports all protocol versions. */
export function sdkV2Client(file = "index.mjs"): string {
  return pathToFileURL(join(packages, "client/dist", file)).href;
}
