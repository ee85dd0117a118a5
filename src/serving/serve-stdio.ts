import type { Identity } from "../auth/identity.ts";
import { defaultMcpSettings, type McpSettings } from "../config/mcp-config.ts";
import type { Problem } from "../config/problem.ts";
import type { Report } from "../events.ts";
import type { Service } from "../service/service.ts";
import { openMcpSurface } from "./mcp-surface.ts";
import { openObservability } from "./observability.ts";
import { openProjectAudit } from "./open-audit.ts";

export interface StdioOptions {
  readonly report: Report;
  readonly now: () => Date;
  /** The identity of the client, which is the program that started this one. */
  readonly identity: Identity;
  readonly input: { readPlain(): AsyncIterable<Uint8Array>; close(): void };
  readonly write: (line: string) => void;
  /** Prints a line of an audit that goes to standard output. */
  readonly audit: (line: string) => void;
  onStop(listener: () => void): void;
}

/** Serves one MCP client until its input ends. Returns a problem if the audit cannot be opened. */
export async function serveStdio(service: Service, options: StdioOptions): Promise<Problem | undefined> {
  const { report, now, identity, input, write } = options;
  const { main } = service.project;
  const audit = await openProjectAudit(main, report, options.audit);
  if ("severity" in audit) return audit;
  // Over stdio there are no credentials; an endpoint with its own auth block still reads the identity.
  const settings: McpSettings = { ...(main.mcp ?? defaultMcpSettings()), auth: undefined };
  const observability = await openObservability(service, { report, metrics: undefined, isDev: false });
  // Without a listener, nothing could read the results of heartbeats.
  observability.surface.drain();
  const observers = [...audit.observers, ...observability.observers];
  const { server } = await openMcpSurface(service, { settings, observers, report, now });
  options.onStop(() => {
    server.drain();
    server.cancelAll();
    input.close();
  });
  await server.serveStdio({ input: input.readPlain(), write, identity });
  server.close();
  await observability.close();
  await audit.close();
  return undefined;
}
