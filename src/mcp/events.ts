import { addressPattern } from "./address-pattern.ts";
import type { ListKind, McpService } from "./mcp-service.ts";
import type { Task } from "./tasks/task.ts";

/** The lists whose changes clients can subscribe to. */
export type ChangingList = "tools" | "resources" | "prompts";

/** An event that clients can subscribe to. */
export type McpEvent =
  | { readonly kind: "list-changed"; readonly list: ChangingList }
  | { readonly kind: "resource-updated"; readonly matches: (uri: string) => boolean }
  | { readonly kind: "task-changed"; readonly task: Task };

/** The lists that differ between two versions of a project. */
export function changedLists(before: McpService, after: McpService): readonly ChangingList[] {
  const differs = (kind: ListKind): boolean => {
    const [old, now] = [before.lists[kind], after.lists[kind]];
    return old !== now && (old.length !== now.length || old.some((entry, index) => entry !== now[index]));
  };
  const changed: ChangingList[] = [];
  if (differs("tools")) changed.push("tools");
  // Templates have no notification of their own: their changes count as changes to resources.
  if (differs("resources") || differs("templates")) changed.push("resources");
  if (differs("prompts")) changed.push("prompts");
  return changed;
}

const PLACEHOLDER = /\{[^{}?]*\}/;
const QUERY = /\{\?[^{}]*\}/g;

/** Returns a function that matches the URIs of a resource. `{name}` matches any characters except "/". Queries are ignored. */
export function uriMatcher(uri: string): (subscribedUri: string) => boolean {
  const matchUri = addressPattern(uri.replaceAll(QUERY, "").split(PLACEHOLDER));
  return (subscribedUri) => subscribedUri === uri || matchUri(subscribedUri.split("?", 1)[0] ?? "") !== undefined;
}
