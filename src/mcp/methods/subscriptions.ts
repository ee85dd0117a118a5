import type { StopSignal } from "../../engines/engine.ts";
import { clientKey, messageBytes } from "../client-key.ts";
import type { McpCore, McpRequest, Method } from "../core.ts";
import type { ChangingList, McpEvent } from "../events.ts";
import type { JsonText } from "../mcp-service.ts";
import { isObject } from "../message.ts";
import { withCall } from "../open-call.ts";
import { CODE, invalidParams, META, RpcFailure, tasksNotDeclared } from "../protocol.ts";
import { notification } from "../reply.ts";
import { MAX_SUBSCRIBED_URI_LENGTH, MAX_SUBSCRIPTIONS } from "../sessions.ts";
import { taskMembers } from "../tasks/task.ts";

/** The supported notifications that a client requests. */
interface Subscription {
  readonly lists: ReadonlySet<ChangingList>;
  readonly uris: ReadonlySet<string>;
  readonly taskIds: ReadonlySet<string>;
}

const LISTS: readonly ChangingList[] = ["tools", "prompts", "resources"];

/** A response that stays open and sends notifications until the client or the service ends it. */
const listen: Method = {
  name: "subscriptions/listen",
  protocols: ["modern"],
  async run(request, core) {
    const subscription = await readSubscription(request, core);
    // This stream must contain neither progress nor log messages.
    const quietMeta = { ...request.meta, progressToken: undefined, logLevel: undefined };
    return withCall({ ...request, meta: quietMeta }, core, ({ signal }) =>
      stayOpen(subscription, { ...request, signal }, core),
    );
  },
};

function stayOpen(
  subscription: Subscription,
  request: McpRequest & { readonly signal: StopSignal },
  { isDraining, streams }: McpCore,
): Promise<JsonText> {
  const { id, owner, sender, signal, state } = request;
  const { reply, address } = sender;
  const meta = `"${META.subscriptionId}":${id}`;
  return new Promise((resolve, reject) => {
    const end = (): void => resolve(state.resultBuilder.resultWithMeta(meta, ""));
    const onEvent = (event: McpEvent): void => {
      for (const message of notificationsOf(event, subscription, meta)) reply.send(message);
    };
    const closeStream = streams.open(
      { onEvent, end },
      { client: clientKey(owner, address), bytes: messageBytes(request) },
    );
    if (closeStream === undefined) {
      reject(new RpcFailure({ code: CODE.internal, message: "Too many streams are open; try again later" }));
      return;
    }
    const stop = (): void => {
      closeStream();
      reject(signal.reason);
    };
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop);
    reply.send(
      notification("notifications/subscriptions/acknowledged", `"_meta":{${meta}},${acknowledgedMember(subscription)}`),
    );
    // Shutdown may have started after this request was authorized.
    if (isDraining()) {
      closeStream();
      end();
    }
  });
}

async function readSubscription(request: McpRequest, core: McpCore): Promise<Subscription> {
  const { meta, owner, params, state } = request;
  const { notifications } = params;
  if (!isObject(notifications)) throw invalidParams("Missing required parameter: notifications");
  const uris = stringsIn(notifications["resourceSubscriptions"], "resourceSubscriptions");
  const requestedIds = stringsIn(notifications["taskIds"], "taskIds");
  if (notifications["taskIds"] !== undefined && !meta.declaresTasks) throw tasksNotDeclared();
  const taskIds = new Set<string>();
  if (state.settings.tasks !== undefined) {
    for (const id of requestedIds) if ((await core.tasks.find(id, owner)) !== undefined) taskIds.add(id);
  }
  return { lists: new Set(LISTS.filter((list) => notifications[`${list}ListChanged`] === true)), uris, taskIds };
}

function stringsIn(value: unknown, name: string): ReadonlySet<string> {
  if (value === undefined) return new Set();
  const isShortList = Array.isArray(value) && value.length <= MAX_SUBSCRIPTIONS;
  if (isShortList && value.every((entry) => typeof entry === "string" && entry.length <= MAX_SUBSCRIBED_URI_LENGTH)) {
    return new Set(value);
  }
  const expected = `a list of at most ${MAX_SUBSCRIPTIONS} strings of at most ${MAX_SUBSCRIBED_URI_LENGTH} characters`;
  throw invalidParams(`Invalid parameter: notifications.${name} must be ${expected}`);
}

/** The notifications that the client will receive, as a JSON member: `"notifications":{…}`. */
function acknowledgedMember({ lists, uris, taskIds }: Subscription): string {
  const notifications = {
    ...Object.fromEntries([...lists].map((list) => [`${list}ListChanged`, true])),
    ...(uris.size > 0 ? { resourceSubscriptions: [...uris] } : {}),
    ...(taskIds.size > 0 ? { taskIds: [...taskIds] } : {}),
  };
  return `"notifications":${JSON.stringify(notifications)}`;
}

function notificationsOf(event: McpEvent, { lists, uris, taskIds }: Subscription, meta: string): readonly JsonText[] {
  switch (event.kind) {
    case "list-changed":
      return lists.has(event.list)
        ? [notification(`notifications/${event.list}/list_changed`, `"_meta":{${meta}}`)]
        : [];
    case "resource-updated":
      return [...uris]
        .filter(event.matches)
        .map((uri) =>
          notification("notifications/resources/updated", `"_meta":{${meta}},"uri":${JSON.stringify(uri)}`),
        );
    case "task-changed":
      return taskIds.has(event.task.id)
        ? [notification("notifications/tasks", `"_meta":{${meta}},${taskMembers(event.task)}`)]
        : [];
  }
}

export const subscriptionMethods: readonly Method[] = [listen];
