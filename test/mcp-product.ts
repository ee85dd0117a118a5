import { rm } from "node:fs/promises";
import { anonymous, type Identity } from "../src/auth/identity.ts";
import type { CallObserver, ObservedCall } from "../src/calls/observed-call.ts";
import { loadProject } from "../src/config/load-project.ts";
import { defaultMcpSettings } from "../src/config/mcp-config.ts";
import { formatProblem } from "../src/config/problem.ts";
import { openStop } from "../src/engines/stop.ts";
import type { ServiceEvent } from "../src/events.ts";
import { type McpEndpoints, openMcpEndpoints } from "../src/mcp/endpoints/open-mcp-endpoints.ts";
import type { AccessDecision, ListKind, McpCall } from "../src/mcp/mcp-service.ts";
import type { RawValue } from "../src/params/parameter.ts";
import { openService, type Service } from "../src/service/service.ts";
import { testSelf } from "./self.ts";
import { type Files, writeFiles } from "./service.ts";

/** A call as reported to an observer, and its status. */
export type Observed = Pick<ObservedCall, "surface" | "endpoint" | "identity" | "raw" | "rows" | "format"> & {
  readonly status: number;
};

export interface TestProduct extends AsyncDisposable {
  readonly product: McpEndpoints;
  readonly service: Service;
  readonly events: readonly ServiceEvent[];
  readonly observed: readonly Observed[];
  readonly progress: readonly number[];
  readonly logged: readonly string[];
  /** A definition by its name. */
  definition(kind: ListKind, name: string): Definition;
  call(name: string, args?: Readonly<Record<string, unknown>>, more?: Partial<McpCall>): Promise<ToolCallResult>;
  read(uri: string, more?: Partial<McpCall>): Promise<{ readonly contents: readonly Content[]; readonly text: string }>;
  prompt(name: string, args?: Readonly<Record<string, string>>): Promise<string>;
  admit(method: string, more?: Partial<Parameters<McpEndpoints["access"]["admit"]>[0]>): Promise<AccessDecision>;
}

export interface Definition {
  readonly [key: string]: unknown;
}

export interface Content {
  readonly uri: string;
  readonly mimeType: string;
  readonly text?: string;
  readonly blob?: string;
}

/** The result of a tool: parsed, and as text. */
export interface ToolCallResult {
  readonly isError: boolean;
  readonly blocks: readonly {
    readonly type: string;
    readonly text?: string;
    readonly data?: string;
    readonly mimeType?: string;
  }[];
  /** The text of the first block. */
  readonly text: string;
  readonly structured: { readonly [key: string]: unknown } | undefined;
  readonly structuredText: string | undefined;
}

export function callOf(more: Partial<McpCall> = {}): McpCall {
  return {
    requestId: "r",
    identity: anonymous,
    address: "127.0.0.1",
    signal: openStop().signal,
    traceparent: undefined,
    progress: () => {},
    log: () => {},
    ...more,
  };
}

/** Arguments as the protocol layer passes them on: null means absent. */
function rawArguments(args: Readonly<Record<string, unknown>>): ReadonlyMap<string, RawValue> {
  const entries = Object.entries(args).filter(([, value]) => value !== null);
  return new Map(
    entries.map(([name, value]) => [
      name,
      typeof value === "object" ? { kind: "json", text: JSON.stringify(value) } : { kind: "text", text: String(value) },
    ]),
  );
}

/** Opens the MCP endpoints of a project with a real database, from files in a temporary folder. */
export async function openTestEndpoints(files: Files, env: Record<string, string> = {}): Promise<TestProduct> {
  const folder = await writeFiles({ "eider.yaml": "connections: {memory: {}}\nmcp: {}\n", ...files });
  const events: ServiceEvent[] = [];
  const report = (event: ServiceEvent) => events.push(event);
  const loaded = await loadProject({ file: undefined, cwd: folder, env, overrides: { port: 0 } });
  const opening = { report, connect: true, ...testSelf, env, purpose: "serve" } as const;
  const opened = loaded.project && (await openService(loaded.project, opening));
  const service = opened?.service;
  if (service === undefined) {
    await rm(folder, { recursive: true });
    throw new Error([...loaded.problems, ...(opened?.problems ?? [])].map(formatProblem).join("\n"));
  }
  const observed: Observed[] = [];
  const observer: CallObserver = {
    needsParameters: true,
    onEnd: ({ surface, endpoint, identity, raw, rows, format }, { status }) =>
      observed.push({ surface, endpoint, identity, raw, rows, format, status }),
  };
  const settings = service.project.main.mcp ?? defaultMcpSettings();
  const now = () => new Date();
  const product = await openMcpEndpoints(service, { settings, observers: [observer], report, now });
  const progress: number[] = [];
  const logged: string[] = [];
  const recordedCall = (more: Partial<McpCall> = {}): McpCall =>
    callOf({ progress: (done) => progress.push(done), log: (level, text) => logged.push(`${level} ${text}`), ...more });
  return {
    product,
    service,
    events,
    observed,
    progress,
    logged,
    definition(kind, name) {
      const texts = product.service.lists[kind].map((text): Definition => JSON.parse(text));
      const found = texts.find((each) => each["name"] === name);
      if (found === undefined) throw new Error(`no ${kind} ${name}`);
      return found;
    },
    async call(name, args = {}, more = {}) {
      const result = await product.service.callTool(name, rawArguments(args), recordedCall(more));
      const blocks: ToolCallResult["blocks"] = JSON.parse(result.content);
      const { structuredContent, isError } = result;
      return {
        isError,
        blocks,
        text: blocks[0]?.text ?? "",
        structured: structuredContent === undefined ? undefined : JSON.parse(structuredContent),
        structuredText: structuredContent,
      };
    },
    async read(uri, more = {}) {
      const contents: readonly Content[] = JSON.parse(
        (await product.service.readResource(uri, recordedCall(more))).contents,
      );
      return { contents, text: contents[0]?.text ?? "" };
    },
    async prompt(name, args = {}) {
      const { messages } = await product.service.getPrompt(name, new Map(Object.entries(args)), recordedCall());
      const [message] = JSON.parse(messages);
      return message.content.text;
    },
    admit: async (method, more = {}) =>
      product.access.admit({ method, target: undefined, authorization: undefined, address: "127.0.0.1", ...more }),
    async [Symbol.asyncDispose]() {
      await service.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** The identity of an authenticated user. */
export function identityNamed(username: string): Identity {
  const text = (value: string) => ({ text: value, type: "VARCHAR", value }) as const;
  return new Map([
    ["type", text("basic")],
    ["username", text(username)],
  ]);
}

/** The files of a tool on the connection `memory`, from its SQL and further YAML. */
export function tool(name: string, sql: string, yaml = ""): Files {
  return {
    [`${name}.yaml`]: `mcp-tool: {name: ${name}, description: About ${name}}\ntemplate-source: ${name}.sql\nconnection: [memory]\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

/** The files of a resource. `mime` is its media type. */
export function resource(file: string, { name, sql, mime = "application/json", yaml = "" }: ResourceFile): Files {
  return {
    [`${file}.yaml`]: `mcp-resource: {name: "${name}", description: About it, mime-type: ${mime}}\ntemplate-source: ${file}.sql\nconnection: [memory]\n${yaml}`,
    [`${file}.sql`]: sql,
  };
}

export interface ResourceFile {
  readonly name: string;
  readonly sql: string;
  readonly mime?: string;
  readonly yaml?: string;
}
