import { randomUUID } from "node:crypto";
import { anonymous } from "../src/auth/identity.ts";
import { defaultMcpSettings, type McpSettings } from "../src/config/mcp-config.ts";
import type { ServiceEvent } from "../src/events.ts";
import { listen } from "../src/http/listen.ts";
import type { McpAccess, McpService } from "../src/mcp/mcp-service.ts";
import { type McpServer, type McpServerOptions, openMcpServer } from "../src/mcp/open-mcp-server.ts";
import type { After } from "../src/time-limit.ts";
import { TASK_AFTER_MS, testRegistry } from "./mcp-registry.ts";

/** The default settings without tasks, and the settings of a test. */
export function mcpSettings(some: Partial<McpSettings> = {}): McpSettings {
  return { ...defaultMcpSettings(), port: 0, uriScheme: "test", tasks: undefined, ...some };
}

export const taskSettings = {
  afterMs: TASK_AFTER_MS,
  workers: 4,
  queueDepth: 16,
  ttlMs: 60_000,
  pollIntervalMs: 100,
} as const;

/** Allows every request. */
export const openGate: McpAccess = { admit: () => ({ kind: "identity", identity: anonymous }) };

const realAfter: After = (ms, work) => {
  const timer = setTimeout(work, ms);
  timer.unref();
  return () => clearTimeout(timer);
};

export interface TestMcp extends AsyncDisposable {
  readonly server: McpServer;
  /** The URL of the MCP endpoint. */
  readonly url: string;
  readonly events: readonly ServiceEvent[];
  /** Sends one POST request with JSON. */
  post(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Waits until exactly `count` streams are open. */
  untilStreams(count: number): Promise<void>;
  /** Sends one POST request in protocol version 2026-07-28. */
  modern(method: string, params?: object, headers?: Readonly<Record<string, string>>): Promise<Response>;
}

/** The `_meta` of requests in protocol version 2026-07-28. */
export const MODERN_META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
} as const;

export const TASKS_META = {
  ...MODERN_META,
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
} as const;

/** Starts an MCP server on a free port, with the tools of the test registry. */
export async function mcpServer(
  options: Partial<McpServerOptions> & { readonly service?: McpService } = {},
): Promise<TestMcp> {
  const events: ServiceEvent[] = [];
  const server = openMcpServer({
    service: testRegistry(),
    access: openGate,
    settings: mcpSettings(),
    report: (event) => events.push(event),
    now: Date.now,
    after: realAfter,
    randomId: randomUUID,
    proxies: { isTrusted: () => false },
    ...options,
  });
  const listener = await listen({ host: "127.0.0.1", port: 0, handle: server.handle });
  const url = `${listener.url}/mcp`;
  const post: TestMcp["post"] = (body, headers = {}) =>
    fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return {
    server,
    url,
    events,
    post,
    async untilStreams(count) {
      for (;;) {
        // The service defines this response.
        const { streams } = (await (await fetch(`${url}/health`)).json()) as { readonly streams: number };
        if (streams === count) return;
      }
    },
    modern(method, params = {}, headers = {}) {
      const { name, uri, taskId } = params as Readonly<Record<string, string>>;
      const named = name ?? uri ?? taskId;
      const body = { jsonrpc: "2.0", id: 1, method, params: { _meta: MODERN_META, ...params } };
      return post(body, {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        ...(named === undefined ? {} : { "Mcp-Name": named }),
        ...headers,
      });
    },
    async [Symbol.asyncDispose]() {
      server.close();
      listener.destroy();
      await listener.close();
    },
  };
}
