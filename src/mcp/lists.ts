import type { JsonText, ListKind, McpService } from "./mcp-service.ts";
import type { ProtocolKind } from "./protocol.ts";

/** The lists of one service, in pages. Pages are cached per protocol, because most clients request the same ones. */
export interface Lists {
  /** The result, as bytes. Undefined if the cursor is not valid for this list. */
  page(kind: ListKind, protocol: ProtocolKind, cursor: string | undefined): Uint8Array | undefined;
}

/** The name of each list in the protocol. */
const MEMBER: Readonly<Record<ListKind, string>> = {
  tools: "tools",
  resources: "resources",
  templates: "resourceTemplates",
  prompts: "prompts",
};

export function openLists(
  { lists }: McpService,
  pageSize: number,
  result: (protocol: ProtocolKind, members: string) => JsonText,
): Lists {
  const pages = new Map<string, Uint8Array>();
  const versions = new Map<ListKind, string>();
  function versionOf(kind: ListKind): string {
    const known = versions.get(kind);
    if (known !== undefined) return known;
    const version = digest(lists[kind]);
    versions.set(kind, version);
    return version;
  }
  function makePage(kind: ListKind, protocol: ProtocolKind, start: number): Uint8Array {
    const entries = lists[kind];
    const end = start + pageSize;
    const cursor = end < entries.length ? `,"nextCursor":"${toCursor(versionOf(kind), end)}"` : "";
    const members = `"${MEMBER[kind]}":[${entries.slice(start, end).join(",")}]${cursor}`;
    return Buffer.from(result(protocol, members));
  }
  return {
    page(kind, protocol, cursor) {
      const start = cursor === undefined ? 0 : startOf(cursor, versionOf(kind));
      if (start === undefined || start % pageSize !== 0 || (start > 0 && start >= lists[kind].length)) return undefined;
      const key = `${kind} ${protocol} ${start}`;
      const known = pages.get(key);
      if (known !== undefined) return known;
      const page = makePage(kind, protocol, start);
      pages.set(key, page);
      return page;
    },
  };
}

/** A hash of the entries, so a cursor stays valid after a reload without changes, and in another process. */
function digest(entries: readonly JsonText[]): string {
  let hash = 0x811c9dc5;
  for (const entry of entries) {
    for (let index = 0; index < entry.length; index++) {
      hash = Math.imul(hash ^ entry.charCodeAt(index), 0x01000193);
    }
    hash = Math.imul(hash ^ 0x10ffff, 0x01000193);
  }
  return `${(hash >>> 0).toString(36)}.${entries.length}`;
}

function toCursor(version: string, start: number): string {
  return Buffer.from(`${version}.${start}`).toString("base64url");
}

function startOf(cursor: string, version: string): number | undefined {
  const text = Buffer.from(cursor, "base64url").toString("latin1");
  const [, cursorVersion, start] = /^(.+)\.([1-9][0-9]{0,8})$/.exec(text) ?? [];
  return cursorVersion === version ? Number(start) : undefined;
}
