import type { IncomingMessage, ServerResponse } from "node:http";
import type { Audit } from "../audit/audit.ts";
import type { TokenExchange } from "../auth/oidc/token-exchange.ts";
import type { Deadline } from "../calls/deadline.ts";
import type { Protections } from "../config/protections.ts";
import type { Report } from "../events.ts";
import { variesByOrigin } from "../http/cors.ts";
import type { RequestHandler } from "../http/listen.ts";
import type { Service } from "../service.ts";
import type { Gate } from "./admit.ts";
import { openRememberedAnswers, type RememberedAnswers } from "./answer/remembered-answers.ts";
import { type Docs, openDocs } from "./answer-docs.ts";
import { VARY } from "./exchange.ts";
import { handleRequest } from "./handle-request.ts";

/** The REST surface of a service: what a listener calls, and how it is brought to rest. */
export interface RestApp {
  readonly handle: RequestHandler;
  /** From now on new calls are refused with 503; those in flight go on. */
  drain(): void;
  /** Ends the calls in flight: their queries are interrupted. */
  cancelAll(): void;
  close(): Promise<void>;
}

/** What a request sees of the app around it. */
export interface RestContext {
  readonly service: Service;
  readonly report: Report;
  readonly isDraining: () => boolean;
  /** Calls in flight. */
  readonly deadlines: Set<Deadline>;
  readonly remembered: RememberedAnswers;
  readonly protections: Protections;
  readonly gate: Gate;
  readonly tokenExchange: TokenExchange | undefined;
  readonly audit: Audit | undefined;
  readonly now: () => Date;
  /** On every answer of an endpoint. */
  readonly vary: string;
  /** Undefined when there is no documentation to be had. */
  readonly docs: Docs | undefined;
}

export interface RestOptions {
  readonly report: Report;
  readonly now: () => Date;
  /** Where calls are written down. */
  readonly audit: Audit | undefined;
}

export function openRestApp(service: Service, { report, now, audit }: RestOptions): RestApp {
  const { protections } = service.project.main;
  let draining = false;
  const deadlines = new Set<Deadline>();
  const context: RestContext = {
    service,
    report,
    isDraining: () => draining,
    deadlines,
    remembered: openRememberedAnswers(service.project.main.cache?.maxBytes),
    protections,
    gate: {
      authenticators: service.authenticators,
      rateLimiter: service.rateLimiter,
      proxies: protections.proxies,
      now: () => performance.now(),
    },
    tokenExchange: protections.auth && service.authenticators.of(protections.auth).exchange,
    audit,
    now,
    docs: service.project.main.docs && openDocs(service, now),
    vary: variesByOrigin(protections.cors) ? `${VARY}, Origin` : VARY,
  };
  return {
    handle: (request: IncomingMessage, response: ServerResponse) => handleRequest(request, response, context),
    drain() {
      draining = true;
    },
    cancelAll() {
      for (const deadline of deadlines) deadline.cancel({ kind: "draining" });
    },
    async close() {
      await service.close();
      await audit?.close();
    },
  };
}
