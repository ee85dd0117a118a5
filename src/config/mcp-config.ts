import { resolve } from "node:path";
import type { AuthPolicy } from "../auth/policy.ts";
import { plainTextCredentialsMessage } from "./access-config.ts";
import { compilePolicy } from "./auth-config.ts";
import { corsPolicyOf } from "./cors-policy.ts";
import type { Files } from "./files.ts";
import { isLoopback } from "./loopback.ts";
import { type Reporter, reporterOf } from "./reporter.ts";
import type { MainInput } from "./schema/main.ts";
import { mcp as mcpSchema } from "./schema/mcp.ts";
import { unknownMessage } from "./suggest.ts";
import type { NodePositions, Report } from "./tree.ts";

/** The settings of the MCP server. */
export interface McpSettings {
  /** Whether the REST listener serves MCP too. Then host and port are those of REST. */
  readonly isMounted: boolean;
  readonly host: string;
  readonly port: number;
  readonly auth: McpAuth | undefined;
  readonly instructions: string | undefined;
  /** Entries per page of a list. */
  readonly pageSize: number;
  /** Rows per result. */
  readonly maxRows: number;
  /** Bytes of text per result. */
  readonly maxTextBytes: number;
  /** The URL that clients use, without a trailing slash. */
  readonly publicUrl: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly uriScheme: string;
  /** The format of rows in the text block. Structured content is always JSON. */
  readonly resultText: "json" | "markdown" | "csv";
  /** Undefined if tasks are disabled. Clients then wait for every call. */
  readonly tasks: TaskSettings | undefined;
}

export interface McpAuth {
  readonly policy: AuthPolicy;
  /** `mcp.auth.enabled`, for methods that are not in `methods`. */
  readonly isRequired: boolean;
  readonly methods: ReadonlyMap<string, boolean>;
}

export interface TaskSettings {
  readonly afterMs: number;
  readonly workers: number;
  readonly queueDepth: number;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
}

/** The main file, and everything else that its `mcp` block depends on. */
export interface McpSource {
  readonly input: MainInput;
  readonly positions: NodePositions;
  readonly folder: string;
  /** The REST listener, which MCP may share. */
  readonly http: { readonly host: string; readonly port: number };
  /** Whether the project was written for flAPI, which serves MCP on its only port, even without an `mcp` block. */
  readonly isFlapi: boolean;
  readonly files: Files;
}

type McpInput = NonNullable<MainInput["mcp"]>;

/** The settings of an empty block, for MCP without a listener. */
export function defaultMcpSettings(): McpSettings {
  return settingsOf(mcpSchema.parse({}));
}

/** Undefined if MCP is disabled. */
export function compileMcp(source: McpSource, report: Report): McpSettings | undefined {
  const { http, isFlapi } = source;
  const mcp = source.input.mcp ?? (isFlapi ? mcpSchema.parse({}) : undefined);
  if (mcp?.enabled !== true) return undefined;
  const reporter = reporterOf(source.positions, report, ["mcp"]);
  checkScheme(mcp["uri-scheme"], reporter);
  const isMounted = isFlapi && !reporter.isWritten(["port"]) ? true : mcp.port === http.port && mcp.port !== 0;
  const settings: McpSettings = {
    ...settingsOf(mcp),
    ...(isMounted ? { isMounted, ...http } : {}),
    auth: authOf(mcp, source, report),
    instructions: instructionsOf(mcp, source, reporter),
    publicUrl: publicUrlOf(mcp["public-url"], reporter),
    allowedOrigins: originsOf(mcp["allowed-origins"], reporter),
  };
  // Without a block, it depends on the entries: see `warnAboutOpenEntry`.
  if (source.input.mcp !== undefined) warnAboutExposure(settings, source, reporter);
  return settings;
}

function settingsOf(mcp: McpInput): McpSettings {
  const { tasks } = mcp;
  return {
    isMounted: false,
    host: mcp.host,
    port: mcp.port,
    auth: undefined,
    instructions: mcp.instructions,
    pageSize: mcp["page-size"],
    maxRows: mcp["max-rows"],
    maxTextBytes: mcp["max-text-bytes"],
    publicUrl: mcp["public-url"],
    allowedHosts: mcp["allowed-hosts"],
    allowedOrigins: mcp["allowed-origins"],
    uriScheme: mcp["uri-scheme"],
    resultText: mcp["result-text"],
    // Enabled by default, because only clients that support tasks get them.
    tasks: tasks.enabled
      ? {
          afterMs: tasks["after-ms"],
          workers: tasks.workers,
          queueDepth: tasks["queue-depth"],
          ttlMs: tasks["ttl-ms"],
          pollIntervalMs: tasks["poll-interval-ms"],
        }
      : undefined,
  };
}

/** The methods that `mcp.auth.methods` may name. */
const METHODS: readonly string[] = [
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "subscriptions/listen",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "notifications/initialized",
  "notifications/cancelled",
];

/** A disabled block also has a policy if one of its methods requires authentication. */
function authOf({ auth }: McpInput, { positions }: McpSource, report: Report): McpAuth | undefined {
  if (auth === undefined) return undefined;
  const { methods: named = {}, ...input } = auth;
  const reporter = reporterOf(positions, report, ["mcp", "auth"]);
  const methods = new Map(Object.entries(named).map(([method, { required }]) => [method, required]));
  for (const method of methods.keys()) {
    // An error, because a misspelt name would leave the method unprotected.
    if (!METHODS.includes(method)) reporter.error(["methods", method], unknownMessage("method", method, METHODS));
  }
  const isRequired = auth.enabled;
  if (!isRequired && ![...methods.values()].includes(true)) return undefined;
  const policy = compilePolicy(input, reporter);
  return policy && { policy, isRequired, methods };
}

function instructionsOf(mcp: McpInput, { folder, files }: McpSource, { error }: Reporter): string | undefined {
  const { instructions, "instructions-file": file } = mcp;
  if (file === undefined) return instructions;
  if (instructions !== undefined) {
    error(["instructions-file"], "'instructions' is set too; keep one of them");
    return instructions;
  }
  const read = files.read(resolve(folder, file));
  if (read.ok) return read.text.trim();
  const { why } = read;
  error(
    ["instructions-file"],
    why.kind === "unreadable" ? `'${file}' cannot be read: ${why.reason}` : `Instructions file not found: ${file}`,
  );
  return undefined;
}

function publicUrlOf(written: string | undefined, { error }: Reporter): string | undefined {
  if (written === undefined) return undefined;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "") {
    return url.href.replace(/\/+$/, "");
  }
  error(["public-url"], `expected an address, https://api.example.com, found '${written}'`);
  return undefined;
}

/** Normalizes origins as browsers do. */
function originsOf(written: McpInput["allowed-origins"], { error, entryPath }: Reporter): readonly string[] {
  if (written.length === 0) return [];
  const parsed = corsPolicyOf({ "allow-origins": written, "allow-credentials": false, "max-age": 0 });
  if ("policy" in parsed) return parsed.policy.origins === "any" ? ["*"] : parsed.policy.origins;
  for (const { index, message } of parsed.problems) error(entryPath(["allowed-origins"], index), message);
  return [];
}

function checkScheme(scheme: string, { error }: Reporter): void {
  if (/^[a-z][a-z0-9+.-]*$/.test(scheme)) return;
  error(
    ["uri-scheme"],
    `'${scheme}' is not a URI scheme; use lower-case letters, digits, '+', '.' and '-', without '://'`,
  );
}

/** Warns about settings that let other machines call tools or read credentials. */
function warnAboutExposure(
  { host, auth, allowedOrigins }: McpSettings,
  { input }: McpSource,
  { securityWarning }: Reporter,
): void {
  if (allowedOrigins.includes("*")) {
    securityWarning(["allowed-origins"], "'*' lets every web page that a user opens call the tools; name the origins");
  }
  if (isLoopback(host)) return;
  const isOff = input.mcp?.auth?.enabled !== true;
  const isOpen = auth === undefined ? isOff : !(auth.methods.get("tools/call") ?? auth.isRequired);
  if (isOpen) {
    securityWarning(
      ["host"],
      `every client that reaches ${host} can call the tools; add mcp.auth, or listen on 127.0.0.1`,
    );
  }
  if (auth !== undefined && input["enforce-https"]?.enabled !== true && input["trusted-proxies"] === undefined) {
    securityWarning(["auth"], plainTextCredentialsMessage(host));
  }
}
