import { afterMs } from "../cache/schedule.ts";
import type { CallObserver } from "../calls/observed-call.ts";
import type { McpSettings } from "../config/mcp-config.ts";
import type { Report } from "../events.ts";
import { holdable } from "../http/holdable.ts";
import { checkHttps } from "../http/https-only.ts";
import type { RequestHandler } from "../http/listen.ts";
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
  let { settings } = options;
  let { access, name } = service.project.main;
  const productOf = (of: Service, as: McpSettings): Promise<McpEndpoints> =>
    openMcpEndpoints(of, { settings: as, observers, report, now });
  let product = await productOf(service, settings);
  const server = openMcpServer({
    service: product.service,
    access: product.access,
    settings,
    report,
    now: () => performance.now(),
    after: afterMs,
    randomId: () => crypto.randomUUID(),
    proxies: { isTrusted: (address) => access.proxies.isTrusted(address) },
    protectedResource: () => protectedResourceOf(name, settings),
  });

  const handle: RequestHandler = (request, response) => {
    if (checkHttps(request, response, access) === undefined) return server.handle(request, response);
    // Agents send credentials: they are not redirected with them.
    const requestId = requestIdOf(request.headers["x-request-id"]);
    response
      .writeHead(403, { "Content-Type": "application/json", "X-Request-Id": requestId })
      .end('{"error":"HTTPS is required"}');
  };

  return {
    server,
    ...holdable(handle),
    async prepare(next) {
      const { mcp = settings, access: border, name: called } = next.project.main;
      const made = await productOf(next, mcp);
      return () => {
        settings = mcp;
        access = border;
        name = called;
        product = made;
        server.replace(made.service, made.access, mcp);
      };
    },
    onEvent(event) {
      if (event.kind !== "cache-refreshed" && event.kind !== "cache-invalidated") return;
      const [schema = "", ...table] = event.cache.split(".");
      server.resourceUpdated(...product.urisOfCache({ schema, table: table.join(".") }));
    },
    drain: server.drain,
    cancelAll: server.cancelAll,
    endStreams: server.endStreams,
  };
}

/** Tells clients which identity provider issues tokens. RFC 9728. */
function protectedResourceOf(resourceName: string, { auth }: McpSettings) {
  if (auth?.policy.kind !== "oidc") return undefined;
  const { issuerUrl, scopes } = auth.policy;
  return { issuer: issuerUrl, scopes, resourceName };
}
