import type { Method } from "../core.ts";
import { levelRank } from "../envelope.ts";
import { requiredString } from "../params.ts";
import { invalidParams } from "../protocol.ts";

/** Sets the log level of a session. Has no effect without a session. */
const setLevel: Method = {
  name: "logging/setLevel",
  protocols: ["legacy"],
  run(request) {
    const level = levelRank(requiredString(request, "level"));
    if (level === undefined) throw invalidParams("Invalid parameter: level is not a log level");
    if (request.session !== undefined) request.session.logLevel = level;
    return "{}";
  },
};

export const loggingMethods: readonly Method[] = [setLevel];
