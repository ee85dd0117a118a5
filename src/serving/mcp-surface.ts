import { afterMs } from "../cache/schedule.ts";
import type { CallObserver } from "../calls/observed-call.ts";
import type { McpSettings } from "../config/mcp-config.ts";
import type { Report } from "../events.ts";
import { checkHttps } from "../http/https-only.ts";
import type { RequestHandler } from "../http/listen.ts";
import { pausable } from "../http/pausable.ts";
import { requestIdOf } from "../http/request-id.ts";
import { type McpEndpoints, openMcpEndpoints } from "../mcp/endpoints/open-mcp-endpoints.ts";
import { type McpServer, openMcpServer } from "../mcp/open-mcp-server.ts";
import type { Service } from "../service/service.ts";
import type { Surface } from "./surfaces.ts";

/** The MCP surface of a service. */
export interface McpSurface extends Surface {
  readonly server: McpServer;
  readonly handle: RequestHandler;
  /** Notifies clients that subscribed to a resource. */
  readonly onEvent: Report;
}

export interface McpSurfaceOptions {
  readonly settings: McpSettings;
  readonly observers: readonly CallObserver[];
  readonly report: Report;
  readonly now: () => Date;
}

export async function openMcpSurface(service: Service, options: McpSurfaceOptions): Promise<McpSurface> {
  const { observers, report, now } = options;
  const stateOf = async (next: Service, settings: McpSettings, previous?: McpEndpoints) => {
    const endpoints = await openMcpEndpoints(next, { settings, observers, report, now, previous });
    return { main: next.project.main, settings, endpoints };
  };
  let state = await stateOf(service, options.settings);
  const server = openMcpServer({
    service: state.endpoints.service,
    access: state.endpoints.access,
    settings: state.settings,
    report,
    now: () => performance.now(),
    after: afterMs,
    randomId: () => crypto.randomUUID(),
    proxies: { isTrusted: (address) => state.main.access.proxies.isTrusted(address) },
    protectedResource: () => protectedResourceOf(state.main.name, state.settings),
  });

  const handle: RequestHandler = (request, response) => {
    if (checkHttps(request, response, state.main.access) === undefined) return server.handle(request, response);
    // No redirect: clients would repeat their credentials.
    const requestId = requestIdOf(request.headers["x-request-id"]);
    response
      .writeHead(403, { "Content-Type": "application/json", "X-Request-Id": requestId })
      .end('{"error":"HTTPS is required"}');
  };

  return {
    server,
    ...pausable(handle),
    async prepare(next) {
      const prepared = await stateOf(next, next.project.main.mcp ?? state.settings, state.endpoints);
      return () => {
        state = prepared;
        server.replace(prepared.endpoints.service, prepared.endpoints.access, prepared.settings);
      };
    },
    onEvent(event) {
      if (event.kind !== "cache-refreshed" && event.kind !== "cache-invalidated") return;
      const [schema = "", ...table] = event.cache.split(".");
      server.resourceUpdated(...state.endpoints.urisOfCache({ schema, table: table.join(".") }));
    },
    drain: server.drain,
    cancelAll: server.cancelAll,
    endStreams: server.endStreams,
  };
}

/** Metadata for clients: which identity provider issues tokens (RFC 9728). */
function protectedResourceOf(resourceName: string, { auth }: McpSettings) {
  if (auth?.policy.kind !== "oidc") return undefined;
  const { issuerUrl, scopes } = auth.policy;
  return { issuer: issuerUrl, scopes, resourceName };
}
