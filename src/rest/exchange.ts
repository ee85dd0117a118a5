import type { IncomingMessage, ServerResponse } from "node:http";
import type { Deadline } from "../calls/deadline.ts";
import type { Limits } from "../config/project.ts";
import type { CachingRules } from "./response/headers.ts";

/** A request and the response to it. */
export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
}

/** A request to an endpoint. */
export interface EndpointExchange extends HttpExchange {
  readonly deadline: Deadline;
  readonly limits: Pick<Limits, "stalledClientTimeoutMs" | "maxBufferedBytes">;
  readonly caching: CachingRules;
}
