import type { IncomingMessage, ServerResponse } from "node:http";
import type { Deadline } from "../calls/deadline.ts";
import type { Limits } from "../config/project.ts";

/** A request to an endpoint and the response to it, for whoever answers. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly deadline: Deadline;
  readonly limits: Pick<Limits, "stalledClientTimeoutMs" | "maxBufferedBytes">;
  /** What answers of endpoints differ by, for whoever keeps them. */
  readonly vary: string;
}

/** On every answer of an endpoint, so that no cache gives CSV to a client that asked for JSON. Spec 4.5. */
export const VARY = "Accept, Accept-Encoding";
