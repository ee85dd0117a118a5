import type { JsonText } from "../mcp-service.ts";
import type { Message } from "../message.ts";
import { errorText, type MessageResult, oneLine } from "../protocol.ts";
import type { Reply } from "../reply.ts";
import { beginEvents, eventOf, type McpExchange, sendEmpty, sendEvent, sendJson } from "./exchange.ts";
import type { KeepAlive } from "./keep-alive.ts";

/** The response to a POST: JSON, or an event stream if notifications precede the result. */
export interface HttpReply extends Reply {
  respond(message: Message, outcome: MessageResult): void;
}

export function openReply(exchange: McpExchange, keepAlive: KeepAlive): HttpReply {
  const { request, response } = exchange;
  const { accept } = request.headers;
  let isStream = false;
  function end(message: JsonText | undefined): void {
    if (response.destroyed) return;
    if (message === undefined) response.end();
    else response.end(eventOf(oneLine(message)));
  }
  return {
    // Legacy scripts send `Accept: */*` but expect JSON.
    accepts: (protocol) => (protocol === "modern" ? acceptsEventStream(accept) : listsEventStream(accept)),
    send(message) {
      if (response.destroyed || response.writableEnded) return;
      if (!isStream) {
        isStream = true;
        beginEvents(exchange);
        keepAlive.add(response);
      }
      sendEvent(exchange, oneLine(message));
    },
    onDisconnect(work) {
      if (response.destroyed) work();
      else response.once("close", () => response.writableFinished || work());
    },
    respond(message, outcome) {
      const id = message.kind === "request" || message.kind === "invalid" ? message.id : undefined;
      switch (outcome.kind) {
        case "accepted":
          return sendEmpty(exchange, 202);
        case "cancelled": {
          const body = errorText(id, { code: 499, message: "Request cancelled" });
          return isStream ? end(undefined) : sendJson(exchange, { status: 200, body });
        }
        case "refused": {
          const body = errorText(id, outcome.error);
          return isStream
            ? end(body)
            : sendJson(exchange, { status: outcome.status, body, extraHeaders: outcome.headers ?? [] });
        }
        case "result": {
          const { result, headers: extraHeaders = [] } = outcome;
          if (isStream) return end(`${resultStart(id)}${typeof result === "string" ? result : Buffer.from(result)}}`);
          const body =
            typeof result === "string"
              ? `${resultStart(id)}${result}}`
              : Buffer.concat([Buffer.from(resultStart(id)), result, RESULT_END]);
          return sendJson(exchange, { status: 200, body, extraHeaders });
        }
      }
    },
  };
}

const RESULT_END = Buffer.from("}");

function resultStart(id: JsonText | undefined): string {
  return `{"jsonrpc":"2.0","id":${id},"result":`;
}

function listsEventStream(accept: string | undefined): boolean {
  return accept?.includes("text/event-stream") === true;
}

function acceptsEventStream(accept: string | undefined): boolean {
  return accept === undefined || listsEventStream(accept) || accept.includes("*/*") || accept.includes("text/*");
}
