import type { McpSettings } from "../config/mcp-config.ts";
import { type Lists, openLists } from "./lists.ts";
import type { JsonText, McpAccess, McpService } from "./mcp-service.ts";
import { type Era, META, TASKS_EXTENSION } from "./protocol.ts";

/** Everything that a reload changes, as one. A call keeps the one that it began with. */
export interface McpState {
  readonly service: McpService;
  readonly gate: McpAccess;
  readonly settings: McpSettings;
  readonly lists: Lists;
  readonly stamp: Stamp;
}

/** For how long, and for whom, a result is good. */
export interface Caching {
  readonly ttlMs: number;
  readonly isPrivate: boolean;
}

/** Makes results: `members` are those of an object, as JSON text without its braces. */
export interface Stamp {
  result(era: Era, members: string, caching?: Caching): JsonText;
  /** `_meta` has more than who we are. */
  resultWith(meta: string, members: string): JsonText;
  /** A task in place of a result. */
  task(members: string): JsonText;
}

/** Lists are the same for everybody; a client that listens hears of changes anyway. */
export const LIST_CACHING: Caching = { ttlMs: 60_000, isPrivate: false };

export function openState(service: McpService, gate: McpAccess, settings: McpSettings): McpState {
  const stamp = openStamp(service);
  const lists = openLists(service, settings.pageSize, (era, members) => stamp.result(era, members, LIST_CACHING));
  return { service, gate, settings, lists, stamp };
}

function openStamp({ serverInfo }: McpService): Stamp {
  const info = `"${META.serverInfo}":${JSON.stringify(serverInfo)}`;
  const end = `,"_meta":{${info}}}`;
  const modern = (type: string, members: string, tail: string): JsonText =>
    members === "" ? `{"resultType":"${type}"${tail}` : `{"resultType":"${type}",${members}${tail}`;
  return {
    result(era, members, caching) {
      if (era === "legacy") return `{${members}}`;
      if (caching === undefined) return modern("complete", members, end);
      const { ttlMs, isPrivate } = caching;
      const scope = isPrivate ? "private" : "public";
      return modern("complete", members, `,"ttlMs":${Math.max(0, Math.floor(ttlMs))},"cacheScope":"${scope}"${end}`);
    },
    resultWith: (meta, members) => modern("complete", members, `,"_meta":{${meta},${info}}}`),
    task: (members) => modern("task", members, end),
  };
}

/** What we can do, as a client asks for it first. Each kind may come into being with a reload. */
export function capabilitiesOf(era: Era, { tasks }: McpSettings): JsonText {
  const extensions = tasks === undefined || era === "legacy" ? {} : { extensions: { [TASKS_EXTENSION]: {} } };
  return JSON.stringify({
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    completions: {},
    logging: {},
    ...extensions,
  });
}
