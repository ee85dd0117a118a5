import type { Identity } from "../auth/identity.ts";
import type { StopSignal } from "../engines/engine.ts";
import type { Failure } from "../failure.ts";
import type { RawValue } from "../params/parameter.ts";

/** JSON as text: rows hold numbers with more digits than a JavaScript number keeps. */
export type JsonText = string;

export type LogLevel = "debug" | "info" | "warning" | "error";

/** One request of a client that has been let in. It knows neither HTTP nor eras. */
export interface McpCall {
  /** Ours: it stands in the log and in the audit. */
  readonly requestId: string;
  readonly identity: Identity;
  readonly address: string;
  /** Aborted with a RequestFailure as its reason when the client cancelled or left, or the service stops. */
  readonly signal: StopSignal;
  /** W3C trace context that came with the request. */
  readonly traceparent: string | undefined;
  /** Tells the client how far its call is. Goes nowhere when it did not ask. Values grow. */
  progress(done: number, total: number, message: string): void;
  /** A message for the client's log. Goes nowhere when it did not ask. */
  log(level: LogLevel, text: string): void;
}

/** What a tool gave. `content` is the JSON text of the array of blocks. */
export interface ToolResult {
  readonly content: JsonText;
  /** JSON text of an object. */
  readonly structuredContent: JsonText | undefined;
  readonly isError: boolean;
}

/** What a resource holds. `contents` is the JSON text of the array of contents. */
export interface ResourceResult {
  readonly contents: JsonText;
  /** How long it is good for. */
  readonly ttlMs: number;
  /** Whether another caller, or the same with another address, might see something else. */
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

/** The kinds of things that are listed; `templates` are listed beside resources and change with them. */
export type ListKind = "tools" | "resources" | "templates" | "prompts";

/**
 * What a project offers to agents: an immutable state. A reload makes another one. Each list is in the order of names, its
 * entries are the JSON texts of the definitions, the same for every caller and in every era.
 */
export interface McpService {
  readonly serverInfo: { readonly name: string; readonly title: string; readonly version: string };
  readonly instructions: string | undefined;
  readonly lists: Readonly<Record<ListKind, readonly JsonText[]>>;
  /** Rejects with an McpError for an unknown tool; every other failure of a tool is a result with `isError`. */
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

/** What the core asks before it runs a method. `target` is the name of the tool or prompt, or the URI of the resource. */
export interface McpAccessRequest {
  readonly method: string;
  readonly target: string | undefined;
  readonly authorization: string | undefined;
  readonly address: string;
  /** Scheme and host by which the client came, `http://127.0.0.1:8081`, once they are known to be ours. */
  readonly origin?: string | undefined;
}

export type AccessDecision =
  | { readonly kind: "identity"; readonly identity: Identity }
  /** `challenges` are the values of `WWW-Authenticate`, in order; empty when the failure is not about credentials. */
  | { readonly kind: "refused"; readonly failure: Failure; readonly challenges: readonly string[] };

/** Decides who may use a method. Never throws, never rejects. */
export interface McpAccess {
  admit(asked: McpAccessRequest): AccessDecision | Promise<AccessDecision>;
}

/** What went wrong with a request, in terms of the protocol: the core makes a JSON-RPC error of it, in the words of each era. */
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
