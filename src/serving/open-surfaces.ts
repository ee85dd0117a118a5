import type { CallObserver } from "../calls/observed-call.ts";
import { readTextFile } from "../config/files.ts";
import { availableDescriptors } from "../engines/machine.ts";
import type { Report } from "../events.ts";
import { type ConnectionLimit, openConnectionLimit } from "../http/connection-limit.ts";
import { type Listener, listen, type RequestHandler } from "../http/listen.ts";
import type { FinishedRequest } from "../rest/observe-request.ts";
import { openRestApp } from "../rest/rest-app.ts";
import type { Service } from "../service/service.ts";
import { openMcpSurface } from "./mcp-surface.ts";
import type { Observability } from "./observability.ts";
import { drainAll, type Surfaces } from "./surfaces.ts";

/** A listener's name and URL, printed when it is ready. */
export interface Address {
  readonly name: string;
  readonly url: string;
}

/** Every surface of a service, with open ports. */
export interface OpenedSurfaces extends Surfaces {
  readonly addresses: readonly Address[];
  /** Notifies MCP clients of cache changes. */
  readonly onEvent: Report;
  /** Listeners that serve until the last call has ended, so that monitoring sees the shutdown. */
  readonly lastToClose: readonly Listener[];
}

export interface SurfaceOptions {
  readonly report: Report;
  readonly now: () => Date;
  readonly observers: readonly CallObserver[];
  readonly observability: Pick<Observability, "surface" | "rest" | "admin">;
  readonly isDev: boolean;
  readonly onRequestEnd: ((request: FinishedRequest) => void) | undefined;
}

/** Opens every port. Rejects with a ListenError or a CertificateError, and then none is open. */
export async function openSurfaces(
  service: Service,
  { report, now, observers, observability, isDev, onRequestEnd }: SurfaceOptions,
): Promise<OpenedSurfaces> {
  const { mcp: settings, http, access, limits } = service.project.main;
  const app = openRestApp(service, { report, now, observers, ...observability.rest, isLive: isDev, onRequestEnd });
  const mcp = settings && (await openMcpSurface(service, { settings, observers, report, now }));
  const surfaces = [app, ...(mcp === undefined ? [] : [mcp]), observability.surface];
  const listeners: Listener[] = [];
  const lastToClose: Listener[] = [];
  const addresses: Address[] = [];
  const connections = connectionLimitsOf(report);
  const timeouts = { stalledMs: limits.stalledClientTimeoutMs };
  const tls = access.https?.tls && { ...access.https.tls, report };
  const open = async (at: { host: string; port: number }, handle: RequestHandler): Promise<string> => {
    const listener = await listen({ ...at, handle, tls, limit: connections?.clients, timeouts });
    listeners.push(listener);
    return listener.url;
  };
  try {
    if (settings === undefined || mcp === undefined)
      addresses.push({ name: "REST", url: await open(http, app.handle) });
    else {
      const { isMounted } = settings;
      const url = await open(http, (request, response) =>
        (isMounted && mcp.server.handles(request.url) ? mcp : app).handle(request, response),
      );
      const mcpUrl = isMounted ? url : await open(settings, mcp.handle);
      addresses.push({ name: "REST", url }, { name: "MCP", url: `${mcpUrl}/mcp` });
    }
    if (observability.admin !== undefined) {
      // Plain HTTP: health checks need no certificate.
      const listener = await listen({ ...observability.admin, limit: connections?.admin, timeouts });
      lastToClose.push(listener);
      addresses.push({ name: "Admin", url: listener.url });
    }
  } catch (error) {
    // An open port would keep the process alive.
    await drainAll({ surfaces, listeners: [...listeners, ...lastToClose] }, 0);
    throw error;
  }
  return { surfaces, listeners, lastToClose, addresses, onEvent: (event) => mcp?.onEvent(event) };
}

/** Shares of the available file descriptors. The rest is for files and the database. */
const CLIENTS_SHARE = 3 / 4;
const ADMIN_SHARE = 1 / 32;

/** The admin listener has its own limit: health stays reachable when clients have used up theirs. */
function connectionLimitsOf(
  report: Report,
): { readonly clients: ConnectionLimit; readonly admin: ConnectionLimit } | undefined {
  const descriptors = availableDescriptors(readTextFile);
  if (descriptors === undefined) return undefined;
  const limitOf = (share: number): ConnectionLimit =>
    openConnectionLimit(Math.ceil(descriptors * share), { report, now: () => performance.now() });
  return { clients: limitOf(CLIENTS_SHARE), admin: limitOf(ADMIN_SHARE) };
}
