import type { Method } from "../core.ts";
import type { ProtocolKind } from "../protocol.ts";
import { completionMethods } from "./completion.ts";
import { lifecycleMethods } from "./lifecycle.ts";
import { loggingMethods } from "./logging.ts";
import { promptMethods } from "./prompts.ts";
import { resourceMethods } from "./resources.ts";
import { subscriptionMethods } from "./subscriptions.ts";
import { taskMethods } from "./tasks.ts";
import { toolMethods } from "./tools.ts";

/** Every supported method. To add one, write it in the file of its family and list the family here. */
const methods: readonly Method[] = [
  ...lifecycleMethods,
  ...loggingMethods,
  ...toolMethods,
  ...resourceMethods,
  ...promptMethods,
  ...completionMethods,
  ...taskMethods,
  ...subscriptionMethods,
];

function tableOf(protocol: ProtocolKind): ReadonlyMap<string, Method> {
  return new Map(
    methods.filter(({ protocols }) => protocols.includes(protocol)).map((method) => [method.name, method]),
  );
}

/** The methods of each protocol, by name. */
export const methodsOf: Readonly<Record<ProtocolKind, ReadonlyMap<string, Method>>> = {
  legacy: tableOf("legacy"),
  modern: tableOf("modern"),
};
