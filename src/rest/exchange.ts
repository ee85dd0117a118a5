import type { IncomingMessage, ServerResponse } from "node:http";
import type { Deadline } from "../calls/deadline.ts";
import type { Limits } from "../config/project.ts";
import type { CachingRules } from "./response/headers.ts";

/** A request to an endpoint and the response to it, for whoever answers. */
export interface EndpointExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly deadline: Deadline;
  readonly limits: Pick<Limits, "stalledClientTimeoutMs" | "maxBufferedBytes">;
  readonly caching: CachingRules;
}
