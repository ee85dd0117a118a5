import type { Statement } from "../../sql/statement.ts";
import type { QueueGroup } from "../engine.ts";

/** What decides which slot a query may have. */
export interface SlotQuery {
  readonly queueGroup?: QueueGroup | undefined;
  readonly connections: readonly string[];
  readonly statements?: readonly Statement[] | undefined;
}

/** What a query needs to run. */
export interface SlotRequest {
  readonly group: QueueGroupState;
  /** Whether it mostly waits for another machine. */
  readonly isRemote: boolean;
  readonly limits: readonly ConnectionLimit[];
  /** The remote connections that it uses. If there are any, no other query has the same request. */
  readonly sources: readonly Source[];
}

/** A connection to another machine. */
export interface Source {
  /** The queries over it that have a slot. */
  readonly running: Set<SlotRequest>;
  usedAt: number;
}

export interface QueueGroupState {
  /** The requests of all queries without connection limits and sources, that is, of most: created once. */
  readonly local: SlotRequest;
  readonly remote: SlotRequest;
  limit: number;
  running: number;
  /** Waiting queries in order of arrival. `resuming`: those that have already started. Cancelled ones are removed at once. */
  readonly resuming: Set<Waiter>;
  readonly starting: Set<Waiter>;
  usedAt: number;
}

interface ConnectionLimit {
  readonly limit: number;
  running: number;
}

export interface Waiter {
  readonly request: SlotRequest;
  admit(): void;
}

export interface QueueGroupsOptions {
  /** The number of slots. */
  readonly size: number;
  /** Concurrent queries per connection, where limited. */
  readonly limits: ReadonlyMap<string, number>;
  readonly isRemote: (query: SlotQuery) => boolean;
  readonly sources: ReadonlyMap<string, Source>;
}

/** A project has few groups; those of its earlier versions are dropped when there are many. */
const MAX_GROUPS = 1_000;
const NO_LIMITS: readonly ConnectionLimit[] = [];
const NO_SOURCES: readonly Source[] = [];

/** Returns a function that creates the request of a query, with the state of its group and of its connections. */
export function openQueueGroups(options: QueueGroupsOptions): (query: SlotQuery) => SlotRequest {
  const { size, limits, isRemote, sources } = options;
  const connectionLimits = new Map(
    [...limits].map(([name, limit]): [string, ConnectionLimit] => [name, { limit, running: 0 }]),
  );
  const groups = new Map<string, QueueGroupState>();

  function groupOf({ name, maxConcurrency }: QueueGroup): QueueGroupState {
    const group = groups.get(name) ?? addGroup(name);
    group.limit = maxConcurrency ?? size;
    return group;
  }

  function addGroup(name: string): QueueGroupState {
    if (groups.size >= MAX_GROUPS) for (const [old, group] of groups) if (isIdle(group)) groups.delete(old);
    const group: QueueGroupState = {
      limit: size,
      running: 0,
      resuming: new Set(),
      starting: new Set(),
      usedAt: 0,
      get local() {
        return local;
      },
      get remote() {
        return remote;
      },
    };
    const local: SlotRequest = { group, isRemote: false, limits: NO_LIMITS, sources: NO_SOURCES };
    const remote: SlotRequest = { group, isRemote: true, limits: NO_LIMITS, sources: NO_SOURCES };
    groups.set(name, group);
    return group;
  }

  return (query) => {
    const { queueGroup, connections } = query;
    const group = groupOf(queueGroup ?? ownGroup(connections));
    if (!connections.some((name) => connectionLimits.has(name) || sources.has(name))) {
      return isRemote(query) ? group.remote : group.local;
    }
    const names = [...new Set(connections)];
    return {
      group,
      isRemote: isRemote(query),
      limits: names.flatMap((name) => connectionLimits.get(name) ?? []),
      sources: names.flatMap((name) => sources.get(name) ?? []),
    };
  };
}

/** Whether the group has neither running nor waiting queries. */
export function isIdle(group: QueueGroupState): boolean {
  return group.running === 0 && group.resuming.size === 0 && group.starting.size === 0;
}

/** For Eider's own work. Queries that wait for one connection do not block those that use others. */
function ownGroup(connections: readonly string[]): QueueGroup {
  return { name: `\0${connections.join("\0")}`, maxConcurrency: undefined };
}
