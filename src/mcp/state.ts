import type { McpSettings } from "../config/mcp-config.ts";
import { type Lists, openLists } from "./lists.ts";
import type { JsonText, McpAccess, McpService } from "./mcp-service.ts";
import { META, type ProtocolKind, TASKS_EXTENSION } from "./protocol.ts";

/** Everything that a reload replaces. Calls in flight keep the state with which they started. */
export interface McpState {
  readonly service: McpService;
  readonly access: McpAccess;
  readonly settings: McpSettings;
  readonly lists: Lists;
  readonly resultBuilder: ResultBuilder;
}

/** How long clients may cache a result, and whether they may share it. */
export interface ResultCaching {
  readonly ttlMs: number;
  readonly isPrivate: boolean;
}

/** Builds results. `members` are the members of an object, as JSON text without its braces. */
export interface ResultBuilder {
  result(protocol: ProtocolKind, members: string, caching?: ResultCaching): JsonText;
  /** A result with additional members in `_meta`. */
  resultWithMeta(meta: string, members: string): JsonText;
  /** A task in place of a result. */
  task(members: string): JsonText;
}

/** Lists are the same for every client. Clients that subscribe are notified of changes anyway. */
export const LIST_CACHING: ResultCaching = { ttlMs: 60_000, isPrivate: false };

export function openState(service: McpService, access: McpAccess, settings: McpSettings): McpState {
  const resultBuilder = openResultBuilder(service);
  const lists = openLists(service, settings.pageSize, (protocol, members) =>
    resultBuilder.result(protocol, members, LIST_CACHING),
  );
  return { service, access, settings, lists, resultBuilder };
}

function openResultBuilder({ serverInfo }: McpService): ResultBuilder {
  const info = `"${META.serverInfo}":${JSON.stringify(serverInfo)}`;
  const end = `,"_meta":{${info}}}`;
  const modernResult = (type: string, members: string, tail: string): JsonText =>
    members === "" ? `{"resultType":"${type}"${tail}` : `{"resultType":"${type}",${members}${tail}`;
  return {
    result(protocol, members, caching) {
      if (protocol === "legacy") return `{${members}}`;
      if (caching === undefined) return modernResult("complete", members, end);
      const { ttlMs, isPrivate } = caching;
      const scope = isPrivate ? "private" : "public";
      return modernResult(
        "complete",
        members,
        `,"ttlMs":${Math.max(0, Math.floor(ttlMs))},"cacheScope":"${scope}"${end}`,
      );
    },
    resultWithMeta: (meta, members) => modernResult("complete", members, `,"_meta":{${meta},${info}}}`),
    task: (members) => modernResult("task", members, end),
  };
}

/** The server's capabilities. Each list is declared even if it is empty, because a reload may add entries. */
export function capabilitiesOf(protocol: ProtocolKind, { tasks }: McpSettings): JsonText {
  const extensions = tasks === undefined || protocol === "legacy" ? {} : { extensions: { [TASKS_EXTENSION]: {} } };
  return JSON.stringify({
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    completions: {},
    logging: {},
    ...extensions,
  });
}
