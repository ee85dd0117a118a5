import type { Method } from "../core.ts";
import { levelRank } from "../envelope.ts";
import { requiredText } from "../params.ts";
import { invalidParams } from "../protocol.ts";

/** What a client wants in its log, for as long as its session lasts. Without one there is nothing to remember it by. */
const setLevel: Method = {
  name: "logging/setLevel",
  eras: ["legacy"],
  run(request) {
    const level = levelRank(requiredText(request, "level"));
    if (level === undefined) throw invalidParams("Invalid parameter: level is no level");
    if (request.session !== undefined) request.session.logLevel = level;
    return "{}";
  },
};

export const loggingMethods: readonly Method[] = [setLevel];
