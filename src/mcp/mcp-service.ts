import type { Identity } from "../auth/identity.ts";
import type { StopSignal } from "../engines/engine.ts";
import type { Failure } from "../failure.ts";
import type { RawValue } from "../params/parameter.ts";

/** JSON as text, because rows may contain numbers with more digits than a JavaScript number can hold. */
export type JsonText = string;

export type LogLevel = "debug" | "info" | "warning" | "error";

/** One authorized request, independent of transport and protocol version. */
export interface McpCall {
  /** The ID in the log and the audit log. Not the ID of the JSON-RPC request. */
  readonly requestId: string;
  readonly identity: Identity;
  readonly address: string;
  /** Aborted with a RequestFailure if the client cancels or disconnects, or the service shuts down. */
  readonly signal: StopSignal;
  /** The W3C trace context of the request. */
  readonly traceparent: string | undefined;
  /** Sends progress if the client requested it. Values must increase. */
  progress(done: number, total: number, message: string): void;
  /** Sends a log message if the client requested messages of this level. */
  log(level: LogLevel, text: string): void;
}

/** The result of a tool. `content` is the JSON text of the array of blocks. */
export interface ToolResult {
  readonly content: JsonText;
  /** JSON text of an object. */
  readonly structuredContent: JsonText | undefined;
  readonly isError: boolean;
}

/** The contents of a resource, as the JSON text of an array. */
export interface ResourceResult {
  readonly contents: JsonText;
  /** How long clients may cache it. */
  readonly ttlMs: number;
  /** Whether other users, or other URIs of this resource, may get different contents. */
  readonly isPrivate: boolean;
}

export interface PromptResult {
  readonly description: string;
  /** JSON text of the array of messages. */
  readonly messages: JsonText;
}

export type CompletionRef =
  | { readonly kind: "prompt"; readonly name: string }
  | { readonly kind: "resource"; readonly uri: string };

export interface Completion {
  /** At most 100. */
  readonly values: readonly string[];
  readonly total: number;
  readonly hasMore: boolean;
}

/** The lists of a service. `templates` are resource templates: their changes count as changes to `resources`. */
export type ListKind = "tools" | "resources" | "templates" | "prompts";

/**
 * What a project offers to agents. Immutable; a reload creates another one. Each list is sorted by name. Its entries are
 * definitions as JSON text, the same for every client and protocol version.
 */
export interface McpService {
  readonly serverInfo: { readonly name: string; readonly title: string; readonly version: string };
  readonly instructions: string | undefined;
  readonly lists: Readonly<Record<ListKind, readonly JsonText[]>>;
  /** Rejects with an McpError for an unknown tool. Any other failure is a result with `isError`. */
  callTool(name: string, args: ReadonlyMap<string, RawValue>, call: McpCall): Promise<ToolResult>;
  /** Rejects with an McpError. */
  readResource(uri: string, call: McpCall): Promise<ResourceResult>;
  /** Rejects with an McpError. */
  getPrompt(name: string, args: ReadonlyMap<string, string>, call: McpCall): Promise<PromptResult>;
  /** Rejects with an McpError. */
  complete(
    ref: CompletionRef,
    argument: { readonly name: string; readonly value: string },
    context: ReadonlyMap<string, string>,
  ): Promise<Completion>;
}

/** A request for access to a method. `target` is the name of the tool or prompt, or the URI of the resource. */
export interface McpAccessRequest {
  readonly method: string;
  readonly target: string | undefined;
  readonly authorization: string | undefined;
  readonly address: string;
  /** Scheme and host of the request, such as `http://127.0.0.1:8081`. The host policy allows this host. */
  readonly origin?: string | undefined;
}

export type AccessDecision =
  | { readonly kind: "identity"; readonly identity: Identity }
  /** `challenges` are the values of `WWW-Authenticate`, in order. Empty if the failure is not about credentials. */
  | { readonly kind: "refused"; readonly failure: Failure; readonly challenges: readonly string[] };

/** Decides who may use a method. Never throws, never rejects. */
export interface McpAccess {
  admit(request: McpAccessRequest): AccessDecision | Promise<AccessDecision>;
}

/** A failed request. The core translates it to a JSON-RPC error for the client's protocol version. */
export type McpProblem =
  | { readonly kind: "unknown-name"; readonly message: string }
  | { readonly kind: "resource-not-found"; readonly uri: string }
  | { readonly kind: "invalid-params"; readonly message: string }
  | { readonly kind: "internal"; readonly message: string };

export class McpError extends Error {
  readonly problem: McpProblem;

  constructor(problem: McpProblem, options?: ErrorOptions) {
    super("message" in problem ? problem.message : `Resource not found: ${problem.uri}`, options);
    this.name = "McpError";
    this.problem = problem;
  }
}
