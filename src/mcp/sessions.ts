import { openClientQuota, type QuotaLimits } from "../bounded/client-quota.ts";
import { textBytes } from "../bounded/own-text.ts";
import type { McpEvent } from "./events.ts";
import type { JsonText } from "./mcp-service.ts";
import { notification } from "./reply.ts";

/** An open stream to a client. */
export interface Channel {
  send(message: JsonText): void;
  end(): void;
}

/** The state of a legacy client since its `initialize`. */
export interface Session {
  readonly id: string;
  /** The key of the identity that it belongs to. Empty if no identity has used it yet. */
  owner: string;
  /** The `clientKey` of the client that opened it. */
  readonly client: string;
  /** The minimum level of log messages. Undefined until the client sets it: until then, it gets none. */
  logLevel: number | undefined;
  /** The resources that it subscribes to. */
  readonly subscriptions: Set<string>;
  /** The open streams, newest last. Each notification is sent on one of them. */
  readonly channels: Channel[];
  usedAt: number;
}

export type SessionOwner = Pick<Session, "owner" | "client">;

export interface Sessions {
  open(owner: SessionOwner): Session;
  /** Undefined if there is no such session, or it belongs to another owner. Clients cannot tell these apart. */
  find(id: string, owner: string): Session | undefined;
  /** False if the URI is too long, or if this session, or all sessions of its client, have too many subscriptions. */
  subscribe(session: Session, uri: string): boolean;
  unsubscribe(session: Session, uri: string): void;
  close(id: string): void;
  count(): number;
}

/** Each URI is stored with its session, and compared with every update. */
export const MAX_SUBSCRIPTIONS = 100;
export const MAX_SUBSCRIBED_URI_LENGTH = 1_024;
const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = { total: 10_000, perClient: 1_250 };
const MIB = 1024 * 1024;
const MAX_SUBSCRIBED_BYTES = { total: 32 * MIB, perClient: 4 * MIB };

/** Creates a session without registering it, for a connection that needs no ID. */
export function newSession(id: string, { owner, client }: SessionOwner, now: number): Session {
  return { id, owner, client, logLevel: undefined, subscriptions: new Set(), channels: [], usedAt: now };
}

export function openSessions({
  now,
  randomId,
  limits = MAX_SESSIONS,
}: {
  readonly now: () => number;
  readonly randomId: () => string;
  readonly limits?: QuotaLimits;
}): Sessions {
  /** The most recently used is last. */
  const sessions = new Map<string, Session>();
  const counts = openClientQuota(limits);
  const subscribedBytes = openClientQuota(MAX_SUBSCRIBED_BYTES);
  const isIdle = ({ channels, usedAt }: Session): boolean => channels.length === 0 && now() - usedAt >= IDLE_MS;

  function close(session: Session): void {
    if (sessions.delete(session.id)) counts.release(session.client, 1);
    for (const uri of session.subscriptions) unsubscribe(session, uri);
    for (const channel of [...session.channels]) channel.end();
  }

  function closeIdle(): void {
    for (const session of sessions.values()) {
      if (isIdle(session)) close(session);
      else if (session.channels.length === 0) break;
    }
  }

  /** The least recently used session, preferably one without a stream. */
  function oldest(matches: (session: Session) => boolean): Session | undefined {
    let found: Session | undefined;
    for (const session of sessions.values()) {
      if (!matches(session)) continue;
      if (session.channels.length === 0) return session;
      found ??= session;
    }
    return found;
  }

  /** Counts one more session. Evicts sessions if needed: those of this client if it has too many, otherwise the oldest. */
  function makeRoom(client: string): void {
    closeIdle();
    while (!counts.take(client, 1)) {
      const hasTooMany = counts.takenBy(client) >= limits.perClient;
      const evicted = oldest(hasTooMany ? (session) => session.client === client : () => true);
      if (evicted === undefined) return;
      close(evicted);
    }
  }

  function unsubscribe({ client, subscriptions }: Session, uri: string): void {
    if (subscriptions.delete(uri)) subscribedBytes.release(client, textBytes(uri));
  }

  return {
    open({ owner, client }) {
      makeRoom(client);
      const session = newSession(randomId(), { owner, client }, now());
      sessions.set(session.id, session);
      return session;
    },
    find(id, owner) {
      const session = sessions.get(id);
      if (session === undefined) return undefined;
      if (isIdle(session)) {
        close(session);
        return undefined;
      }
      // A client may initialize without credentials. The first identity that uses the session then owns it.
      if (session.owner === "") session.owner = owner;
      if (session.owner !== owner) return undefined;
      session.usedAt = now();
      sessions.delete(id);
      sessions.set(id, session);
      return session;
    },
    subscribe({ subscriptions, client }, uri) {
      if (subscriptions.has(uri)) return true;
      if (uri.length > MAX_SUBSCRIBED_URI_LENGTH || subscriptions.size >= MAX_SUBSCRIPTIONS) return false;
      if (!subscribedBytes.take(client, textBytes(uri))) return false;
      subscriptions.add(uri);
      return true;
    },
    unsubscribe,
    close(id) {
      const session = sessions.get(id);
      if (session !== undefined) close(session);
    },
    count: () => sessions.size,
  };
}

/** The notifications about an event for a legacy client. */
export function legacyNotifications(event: McpEvent, { subscriptions }: Session): readonly JsonText[] {
  switch (event.kind) {
    case "list-changed":
      return [notification(`notifications/${event.list}/list_changed`, "")];
    case "resource-updated":
      return [...subscriptions]
        .filter(event.matches)
        .map((uri) => notification("notifications/resources/updated", `"uri":${JSON.stringify(uri)}`));
    case "task-changed":
      return [];
  }
}
