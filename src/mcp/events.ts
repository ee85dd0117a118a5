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
  // Templates are listed with resources and have no notification of their own.
  if (differs("resources") || differs("templates")) changed.push("resources");
  if (differs("prompts")) changed.push("prompts");
  return changed;
}

const PLACEHOLDER = /\{[^{}?]*\}/;
const QUERY = /\{\?[^{}]*\}/g;

/** Matches the URIs of this resource. `{name}` matches any characters except "/". Queries are ignored. */
export function uriMatcher(uri: string): (watched: string) => boolean {
  const matchUri = addressPattern(uri.replaceAll(QUERY, "").split(PLACEHOLDER));
  return (watched) => watched === uri || matchUri(watched.split("?", 1)[0] ?? "") !== undefined;
}
