import type { IncomingMessage, ServerResponse } from "node:http";
import { reportFailure } from "../calls/run-call.ts";
import { RequestFailure } from "../failure.ts";
import { requestIdOf } from "../http/request-id.ts";
import type { RestContext } from "./context.ts";
import type { HttpExchange } from "./exchange.ts";
import { handleCall } from "./handle-call.ts";
import { redirectToDocs } from "./handle-docs.ts";
import { enforceHttps, setCorsHeaders } from "./https-and-cors.ts";
import { observeRequest } from "./observe-request.ts";
import { splitTarget } from "./read-params/target.ts";
import type { RouteTable } from "./route-table.ts";
import { progressOf, sendFailure, sendOptionsResponse } from "./send-failure.ts";

/** The state of the REST surface. A reload replaces it. */
export interface RestState {
  readonly routes: RouteTable;
  readonly context: RestContext;
}

/** Handles a REST request: HTTPS, CORS, then its route. Endpoint calls continue in `handleCall`. Start reading here. */
export function handleRequest(request: IncomingMessage, response: ServerResponse, state: RestState): void {
  const { routes, context } = state;
  const exchange: HttpExchange = { request, response, requestId: requestIdOf(request.headers["x-request-id"]) };
  const setObservedCall = context.onRequestEnd && observeRequest(exchange, context.onRequestEnd);
  const fail = (error: unknown): void => {
    const failedCall = { requestId: exchange.requestId, endpoint: "", progress: progressOf(response) };
    sendFailure(reportFailure(error, failedCall, context.report), exchange);
  };
  try {
    enforceHttps(exchange, context.access);
    setCorsHeaders(exchange, context.access);
    const target = splitTarget(request);
    const { method = "GET" } = request;
    const match = routes.match(method === "HEAD" ? "GET" : method, target.path);
    if (context.isDraining() && !(match.kind === "built-in" && match.route.servedWhileDraining)) {
      throw new RequestFailure({ kind: "draining" });
    }
    switch (match.kind) {
      case "built-in":
        match.route.handle(exchange, target)?.catch(fail);
        return;
      case "endpoint":
        // HEAD must not run a write.
        if (method === "HEAD" && match.endpoint.operation.kind === "write") {
          throw new RequestFailure({ kind: "method-not-allowed", allow: ["GET", "OPTIONS"] });
        }
        handleCall({ match, target, exchange, setObservedCall }, context);
        return;
      case "other-methods":
        if (method !== "OPTIONS") throw new RequestFailure({ kind: "method-not-allowed", allow: match.allow });
        sendOptionsResponse(exchange, match.allow, context.access);
        return;
      case "none":
        if (redirectToDocs(target, exchange, context)) return;
        throw new RequestFailure({ kind: "not-found" });
    }
  } catch (error) {
    fail(error);
  }
}
