import type { McpEvent } from "./events.ts";
import type { JsonText } from "./mcp-service.ts";
import { notification } from "./reply.ts";

/** A stream that a client keeps open for whatever may come. */
export interface Channel {
  send(message: JsonText): void;
  end(): void;
}

/** What a legacy client has told us since its `initialize`. */
export interface Session {
  readonly id: string;
  /** The key of the identity that it belongs to. */
  owner: string;
  /** Messages for its log below this level are not sent. */
  logLevel: number;
  /** The resources that it watches. */
  readonly subscriptions: Set<string>;
  /** Ways to send it something unasked, the newest last: each message goes one of them. */
  readonly channels: Channel[];
  usedAt: number;
}

export interface Sessions {
  open(owner: string): Session;
  /** The session of this owner; undefined when there is none, or it is somebody else's: nobody is told which. */
  find(id: string, owner: string): Session | undefined;
  close(id: string): void;
  count(): number;
}

/** `info`: what a client hears that never said. */
export const FIRST_LOG_LEVEL = 1;
const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 10_000;

/** A session of its own, for a connection that needs no id. */
export function newSession(id: string, owner: string, now: number): Session {
  return { id, owner, logLevel: FIRST_LOG_LEVEL, subscriptions: new Set(), channels: [], usedAt: now };
}

export function openSessions({
  now,
  randomId,
  limit = MAX_SESSIONS,
}: {
  readonly now: () => number;
  readonly randomId: () => string;
  readonly limit?: number;
}): Sessions {
  /** The one that was used last stands last. */
  const sessions = new Map<string, Session>();
  const isIdle = ({ channels, usedAt }: Session): boolean => channels.length === 0 && now() - usedAt >= IDLE_MS;

  function close(id: string): void {
    const session = sessions.get(id);
    sessions.delete(id);
    for (const channel of [...(session?.channels ?? [])]) channel.end();
  }

  function makeRoom(): void {
    for (const session of sessions.values()) {
      if (isIdle(session)) sessions.delete(session.id);
      else if (session.channels.length === 0) break;
    }
    if (sessions.size < limit) return;
    const oldest =
      [...sessions.values()].find(({ channels }) => channels.length === 0) ?? sessions.values().next().value;
    if (oldest !== undefined) close(oldest.id);
  }

  return {
    open(owner) {
      makeRoom();
      const session = newSession(randomId(), owner, now());
      sessions.set(session.id, session);
      return session;
    },
    find(id, owner) {
      const session = sessions.get(id);
      if (session === undefined) return undefined;
      if (isIdle(session)) {
        sessions.delete(id);
        return undefined;
      }
      // Begun without credentials, because a server may ask for them later: the first who shows some has it.
      if (session.owner === "") session.owner = owner;
      if (session.owner !== owner) return undefined;
      session.usedAt = now();
      sessions.delete(id);
      sessions.set(id, session);
      return session;
    },
    close,
    count: () => sessions.size,
  };
}

/** What a legacy client is told of an event, if anything. */
export function legacyNotice(event: McpEvent, { subscriptions }: Session): readonly JsonText[] {
  switch (event.kind) {
    case "list-changed":
      return [notification(`notifications/${event.list}/list_changed`, "")];
    case "resource-updated":
      return [...subscriptions]
        .filter(event.isMeant)
        .map((uri) => notification("notifications/resources/updated", `"uri":${JSON.stringify(uri)}`));
    case "task-changed":
      return [];
  }
}
