import type { IncomingMessage, ServerResponse } from "node:http";
import type { Deadline } from "../calls/deadline.ts";
import type { Report } from "../events.ts";
import type { RequestHandler } from "../http/listen.ts";
import type { Service } from "../service.ts";
import { openRememberedAnswers, type RememberedAnswers } from "./answer/remembered-answers.ts";
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
}

export function openRestApp(service: Service, report: Report): RestApp {
  let draining = false;
  const deadlines = new Set<Deadline>();
  const context: RestContext = {
    service,
    report,
    isDraining: () => draining,
    deadlines,
    remembered: openRememberedAnswers(),
  };
  return {
    handle: (request: IncomingMessage, response: ServerResponse) => handleRequest(request, response, context),
    drain() {
      draining = true;
    },
    cancelAll() {
      for (const deadline of deadlines) deadline.cancel({ kind: "draining" });
    },
    close: () => service.close(),
  };
}
