import type { McpRequest, Method } from "../core.ts";
import { withCall } from "../open-call.ts";
import { requiredString } from "../params.ts";
import { CODE, invalidParams, RpcFailure } from "../protocol.ts";
import { MAX_SUBSCRIBED_URI_LENGTH, MAX_SUBSCRIPTIONS, type Session } from "../sessions.ts";
import { listMethod } from "./list-page.ts";

const read: Method = {
  name: "resources/read",
  protocols: ["legacy", "modern"],
  nameParam: "uri",
  async run(request, core) {
    const uri = requiredString(request, "uri");
    const { service, resultBuilder } = request.state;
    const found = await withCall(request, core, (call) => service.readResource(uri, call));
    return resultBuilder.result(request.protocol, `"contents":${found.contents}`, found);
  },
};

const subscribe: Method = {
  name: "resources/subscribe",
  protocols: ["legacy"],
  run(request, { sessions }) {
    const uri = requiredString(request, "uri");
    if (!sessions.subscribe(sessionOf(request), uri)) {
      throw invalidParams(
        `Cannot subscribe to more than ${MAX_SUBSCRIPTIONS} resources, or to a URI of more than ${MAX_SUBSCRIBED_URI_LENGTH} characters`,
      );
    }
    return "{}";
  },
};

const unsubscribe: Method = {
  name: "resources/unsubscribe",
  protocols: ["legacy"],
  run(request, { sessions }) {
    sessions.unsubscribe(sessionOf(request), requiredString(request, "uri"));
    return "{}";
  },
};

function sessionOf({ session }: McpRequest): Session {
  if (session !== undefined) return session;
  throw new RpcFailure({
    code: CODE.invalidRequest,
    message: "Invalid Request: this needs a session; send initialize first",
  });
}

export const resourceMethods: readonly Method[] = [
  listMethod("resources/list", "resources"),
  listMethod("resources/templates/list", "templates"),
  read,
  subscribe,
  unsubscribe,
];
