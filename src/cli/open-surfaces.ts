import type { CallObserver } from "../calls/observed-call.ts";
import { textOf } from "../config/files.ts";
import type { MainConfig } from "../config/project.ts";
import { availableDescriptors } from "../engines/machine.ts";
import type { Report } from "../events.ts";
import { type ConnectionLimit, openConnectionLimit } from "../http/connection-limit.ts";
import { ListenError, type Listener, listen, type RequestHandler } from "../http/listen.ts";
import { CertificateError } from "../http/tls.ts";
import { printable } from "../printable.ts";
import { openRestApp } from "../rest/rest-app.ts";
import type { Service } from "../service/service.ts";
import { openMcpSurface } from "../serving/mcp-surface.ts";
import type { Observability } from "../serving/observability.ts";
import { drainAll, type Surfaces } from "../serving/surfaces.ts";
import { type ExitCode, exitCodes, type Runtime } from "./command.ts";
import { printProblems } from "./print-problems.ts";
import { requestLine } from "./request-line.ts";

/** Every surface of a service at its port. */
export interface OpenedSurfaces extends Surfaces {
  /** As they are told to people when they are ready. */
  readonly addresses: readonly { readonly name: string; readonly url: string }[];
  /** What the service reports is news for some who listen. */
  readonly hear: Report;
  /** Listeners that answer until every call has come to its end: whoever watches wants to see that. */
  readonly lastToClose: readonly Listener[];
}

export interface SurfaceOptions {
  readonly report: Report;
  readonly observers: readonly CallObserver[];
  readonly observation: Pick<Observability, "surface" | "rest" | "admin">;
  /** For the person who writes the project. */
  readonly isDev: boolean;
}

/** Opens every port; the exit code when one cannot be. */
export async function openSurfaces(
  service: Service,
  { report, observers, observation, isDev }: SurfaceOptions,
  runtime: Runtime,
): Promise<OpenedSurfaces | ExitCode> {
  const { main } = service.project;
  const { now } = runtime;
  const app = openRestApp(service, {
    report,
    now,
    observers,
    ...observation.rest,
    isLive: isDev,
    watcher: isDev
      ? (request) => {
          const line = requestLine(request, runtime.stdout);
          if (line !== undefined) runtime.stdout.write(`${line}\n`);
        }
      : undefined,
  });
  const mcp = main.mcp && (await openMcpSurface(service, { settings: main.mcp, observers, report, now }));
  const isMounted = main.mcp !== undefined && main.mcp.port !== 0 && main.mcp.port === main.http.port;
  const surfaces = [app, ...(mcp === undefined ? [] : [mcp]), observation.surface];
  const listeners: Listener[] = [];
  const lastToClose: Listener[] = [];
  const addresses: { name: string; url: string }[] = [];
  const limits = limitsOf(report);
  const patience = { stalledMs: main.limits.stalledClientTimeoutMs };
  const open = async (name: string, at: { host: string; port: number }, handle: RequestHandler): Promise<string> => {
    const listener = await listen({ ...at, handle, tls: tlsOf(main, report), limit: limits?.clients, patience });
    listeners.push(listener);
    addresses.push({ name, url: listener.url });
    return listener.url;
  };
  try {
    const handle: RequestHandler =
      mcp !== undefined && isMounted
        ? (request, response) => (mcp.server.handles(request.url) ? mcp : app).handle(request, response)
        : app.handle;
    const url = await open("REST", main.http, handle);
    if (isMounted) addresses.push({ name: "MCP", url: `${url}/mcp` });
    else if (mcp !== undefined && main.mcp !== undefined) {
      const own = await open("MCP", main.mcp, mcp.handle);
      addresses.splice(-1, 1, { name: "MCP", url: `${own}/mcp` });
    }
    if (observation.admin !== undefined) {
      // In plain HTTP, for those who look after the service: health needs no certificate. decisions 10.
      const listener = await listen({ ...observation.admin, limit: limits?.admin, patience });
      lastToClose.push(listener);
      addresses.push({ name: "Admin", url: listener.url });
    }
  } catch (error) {
    // A port that stays open would keep the process from its end.
    await drainAll({ surfaces, listeners: [...listeners, ...lastToClose] }, 0);
    return exitCodeOf(error, main, runtime);
  }
  return { surfaces, listeners, lastToClose, addresses, hear: (event) => mcp?.hear(event) };
}

/** Of the file descriptors: the rest is for files and for the database. */
const CLIENTS_SHARE = 3 / 4;
const ADMIN_SHARE = 1 / 32;

/** The admin listener has connections of its own: health stays reachable when clients have taken all of theirs. */
function limitsOf(report: Report): { readonly clients: ConnectionLimit; readonly admin: ConnectionLimit } | undefined {
  const descriptors = availableDescriptors(textOf);
  if (descriptors === undefined) return undefined;
  const limitOf = (share: number): ConnectionLimit =>
    openConnectionLimit(Math.ceil(descriptors * share), { report, now: () => performance.now() });
  return { clients: limitOf(CLIENTS_SHARE), admin: limitOf(ADMIN_SHARE) };
}

function tlsOf({ access: { https } }: MainConfig, report: Report) {
  return https?.tls && { ...https.tls, report };
}

function exitCodeOf(error: unknown, main: MainConfig, { stderr }: Runtime): ExitCode {
  if (error instanceof CertificateError) {
    const { message } = error;
    const location = main.locate(["enforce-https"]);
    printProblems([{ severity: "error", location, path: "enforce-https", message }], stderr);
    return exitCodes.problem;
  }
  if (!(error instanceof ListenError)) throw error;
  stderr.write(`${printable(error.message)}\n`);
  return exitCodes.unavailable;
}
