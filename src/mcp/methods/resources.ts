import type { McpRequest, Method } from "../core.ts";
import { withCall } from "../open-call.ts";
import { requiredText } from "../params.ts";
import { CODE, invalidParams, RpcFailure } from "../protocol.ts";
import { MAX_WATCHED, MAX_WATCHED_LENGTH, type Session } from "../sessions.ts";
import { listMethod } from "./list-page.ts";

const read: Method = {
  name: "resources/read",
  protocols: ["legacy", "modern"],
  named: "uri",
  async run(request, core) {
    const uri = requiredText(request, "uri");
    const { service, stamp } = request.state;
    const found = await withCall(request, core, (call) => service.readResource(uri, call));
    return stamp.result(request.protocol, `"contents":${found.contents}`, found);
  },
};

const subscribe: Method = {
  name: "resources/subscribe",
  protocols: ["legacy"],
  run(request, { sessions }) {
    const uri = requiredText(request, "uri");
    if (!sessions.watch(sessionOf(request), uri)) {
      throw invalidParams(
        `At most ${MAX_WATCHED} resources can be watched, by at most ${MAX_WATCHED_LENGTH} characters`,
      );
    }
    return "{}";
  },
};

const unsubscribe: Method = {
  name: "resources/unsubscribe",
  protocols: ["legacy"],
  run(request, { sessions }) {
    sessions.unwatch(sessionOf(request), requiredText(request, "uri"));
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
