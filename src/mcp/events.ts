import { addressPattern } from "./address-pattern.ts";
import type { ListKind, McpService } from "./mcp-service.ts";
import type { Task } from "./tasks/task.ts";

/** The lists of which a client can hear that they changed. */
export type ChangingList = "tools" | "resources" | "prompts";

/** What clients may want to hear of without having asked for it just now. */
export type McpEvent =
  | { readonly kind: "list-changed"; readonly list: ChangingList }
  | { readonly kind: "resource-updated"; readonly isMeant: (uri: string) => boolean }
  | { readonly kind: "task-changed"; readonly task: Task };

/** The lists that differ between two states of a project. */
export function changedLists(before: McpService, after: McpService): readonly ChangingList[] {
  const differs = (kind: ListKind): boolean => {
    const [old, now] = [before.lists[kind], after.lists[kind]];
    return old !== now && (old.length !== now.length || old.some((entry, index) => entry !== now[index]));
  };
  const changed: ChangingList[] = [];
  if (differs("tools")) changed.push("tools");
  // Templates are listed beside resources, and have no notification of their own.
  if (differs("resources") || differs("templates")) changed.push("resources");
  if (differs("prompts")) changed.push("prompts");
  return changed;
}

const PLACE = /\{[^{}?]*\}/;
const QUERY = /\{\?[^{}]*\}/g;

/** Whether somebody who watches an address means this resource: `{name}` stands for a part, a query is part of it. */
export function meaningOf(uri: string): (watched: string) => boolean {
  const fits = addressPattern(uri.replaceAll(QUERY, "").split(PLACE));
  return (watched) => watched === uri || fits(watched.split("?", 1)[0] ?? "") !== undefined;
}
