import { type Claims, type Identity, identityOf } from "../auth/identity.ts";
import { defaultMcpSettings } from "../config/mcp-config.ts";
import type { Problem } from "../config/problem.ts";
import { NEVER_STOPPED } from "../engines/stop.ts";
import type { Report } from "../events.ts";
import { type InProcessRequest, type InProcessResponse, requestInProcess } from "../http/in-process.ts";
import { openMcpEndpoints } from "../mcp/endpoints/open-mcp-endpoints.ts";
import type { ToolResult } from "../mcp/mcp-service.ts";
import type { RawValue } from "../params/parameter.ts";
import { openRestApp } from "../rest/rest-app.ts";
import type { Service } from "../service/service.ts";
import { openProjectAudit } from "./open-audit.ts";

/** The user on whose behalf a call is made. */
export type CallUser = Required<Pick<Claims, "username" | "roles">>;

export interface CallOnceOptions {
  /** Without one, the call has no credentials. */
  readonly user: CallUser | undefined;
  readonly report: Report;
  readonly now: () => Date;
  /** Prints a line of an audit that goes to standard output. */
  readonly audit: (line: string) => void;
}

/** Makes one REST request without a port, and passes the response on. Returns a problem if the audit cannot be opened. */
export async function requestOnce<T>(
  service: Service,
  request: InProcessRequest,
  { user, ...options }: CallOnceOptions & { readonly use: (response: InProcessResponse) => Promise<T> },
): Promise<T | Problem> {
  const { report, now, use } = options;
  const audit = await openProjectAudit(service.project.main, report, options.audit);
  if ("severity" in audit) return audit;
  const authenticators = user === undefined ? service.authenticators : authenticatorsOf(user);
  const app = openRestApp({ ...service, authenticators }, { report, now, observers: audit.observers });
  const response = await requestInProcess(app.handle, request);
  const used = await use(response);
  await response.closed;
  await audit.close();
  return used;
}

/** Accepts the user wherever authentication is required. */
function authenticatorsOf(user: CallUser): Pick<Service["authenticators"], "of"> {
  return {
    of: ({ kind }) => ({
      authenticate: () => ({ kind: "identity", identity: identityOf({ ...user, type: kind }) }),
    }),
  };
}

/** Calls one tool as an MCP client does. Returns a problem if the audit cannot be opened. */
export async function callToolOnce(
  service: Service,
  { name, args }: { readonly name: string; readonly args: ReadonlyMap<string, RawValue> },
  { user, report, now, audit: print }: CallOnceOptions,
): Promise<ToolResult | Problem> {
  const { main } = service.project;
  const audit = await openProjectAudit(main, report, print);
  if ("severity" in audit) return audit;
  const { observers } = audit;
  const settings = main.mcp ?? defaultMcpSettings();
  const { service: tools } = await openMcpEndpoints(service, { settings, observers, report, now });
  const identity: Identity = user === undefined ? new Map() : identityOf({ ...user, type: "basic" });
  const result = await tools.callTool(name, args, {
    requestId: crypto.randomUUID(),
    identity,
    address: "",
    signal: NEVER_STOPPED,
    traceparent: undefined,
    progress() {},
    log() {},
  });
  await audit.close();
  return result;
}
