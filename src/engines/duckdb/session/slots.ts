import { RequestFailure } from "../../../failure.ts";
import type { QueueGroup } from "../../engine.ts";
import type { Cancellation } from "./cancellation.ts";
import { openQueueLimit } from "./queue-limit.ts";

/**
 * Limits how much native work runs at once. Queue groups (endpoints) share the slots: the one with the fewest running queries
 * goes next, so that a slow endpoint with a long queue delays no other. Within a group it is first come, first served.
 */
export interface Slots {
  /** Creates a slot request for a query of this group that uses these connections. */
  request(group: QueueGroup | undefined, connections: readonly string[]): SlotRequest;
  /** Waits for a slot and for capacity on the connections. Throws an `overloaded` failure when the queue is full. */
  enter(request: SlotRequest, cancellation: Cancellation): Promise<void> | undefined;
  /** Like `enter`, for a query that has already started: it is never rejected, and keeps its capacity on the connections. */
  reenter(request: SlotRequest, cancellation: Cancellation): Promise<void> | undefined;
  /** Enters only if it need not wait. */
  tryEnter(request: SlotRequest): boolean;
  /** Releases the slot. */
  leave(request: SlotRequest): void;
  /** The query is done: releases its capacity on the connections. */
  release(request: SlotRequest): void;
  running(): number;
  waiting(): number;
}

/** What a query needs to run. */
export interface SlotRequest {
  readonly group: QueueGroupState;
  readonly limits: readonly ConnectionLimit[];
}

interface QueueGroupState {
  readonly name: string;
  /** The request of all queries without connection limits, that is, of most: created once. */
  readonly plain: SlotRequest;
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

interface Waiter {
  readonly request: SlotRequest;
  admit(): void;
}

export interface SlotsOptions {
  readonly size: number;
  /** How many may wait. Undefined: as many as will run soon. */
  readonly maxWaiting: number | undefined;
  /** Concurrent queries per connection, where limited. */
  readonly limits?: ReadonlyMap<string, number>;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** A project has few groups; those of its earlier versions are dropped when there are many. */
const MAX_GROUPS = 1_000;
/** A group that was used within this time is expected to be used again. */
const RECENT_MS = 30_000;
/** With fewer slots none is reserved. */
const MIN_SLOTS_TO_RESERVE = 4;
const NO_LIMITS: readonly ConnectionLimit[] = [];

export function openSlots({ size, maxWaiting, limits, now = () => performance.now() }: SlotsOptions): Slots {
  const connectionLimits = new Map(
    [...(limits ?? [])].map(([name, limit]): [string, ConnectionLimit] => [name, { limit, running: 0 }]),
  );
  const groups = new Map<string, QueueGroupState>();
  /** Groups with waiting queries, in the order of their last admission. */
  const queue = new Set<QueueGroupState>();
  const queueLimit = openQueueLimit({ slots: size, maxWaiting, now });
  /** The last slots are reserved for groups that run nothing, so that these need not wait behind a flood of slow queries. */
  const reserved = size < MIN_SLOTS_TO_RESERVE ? 0 : Math.max(1, size >> 3);
  let running = 0;
  let resuming = 0;
  let starting = 0;
  /** Groups with running or waiting queries. */
  let busy = 0;
  let lastUsed: QueueGroupState | undefined;
  let lastUsedOther: QueueGroupState | undefined;

  function groupOf({ name, maxConcurrency }: QueueGroup): QueueGroupState {
    const group = groups.get(name) ?? addGroup(name);
    group.limit = maxConcurrency ?? size;
    return group;
  }

  function addGroup(name: string): QueueGroupState {
    if (groups.size >= MAX_GROUPS) for (const [old, group] of groups) if (isIdle(group)) groups.delete(old);
    const group: QueueGroupState = {
      name,
      limit: size,
      running: 0,
      resuming: new Set(),
      starting: new Set(),
      usedAt: 0,
      get plain() {
        return plain;
      },
    };
    const plain: SlotRequest = { group, limits: NO_LIMITS };
    groups.set(name, group);
    return group;
  }

  function isIdle(group: QueueGroupState): boolean {
    return group.running === 0 && group.resuming.size === 0 && group.starting.size === 0;
  }

  function requestOf(group: QueueGroup, connections: readonly string[]): SlotRequest {
    const state = groupOf(group);
    if (connectionLimits.size === 0 || !connections.some((name) => connectionLimits.has(name))) return state.plain;
    return { group: state, limits: [...new Set(connections)].flatMap((name) => connectionLimits.get(name) ?? []) };
  }

  /** Whether another group is busy or was used recently. */
  function isOtherGroupActive(group: QueueGroupState): boolean {
    const other = lastUsed === group ? lastUsedOther : lastUsed;
    return other !== undefined && (!isIdle(other) || now() - other.usedAt < RECENT_MS);
  }

  function hasSlot(group: QueueGroupState): boolean {
    if (running >= size || group.running >= group.limit) return false;
    return size - running > reserved || group.running === 0 || !isOtherGroupActive(group);
  }

  const hasCapacity = (request: SlotRequest): boolean => request.limits.every((each) => each.running < each.limit);

  function noteUse(group: QueueGroupState): void {
    group.usedAt = now();
    if (lastUsed === group) return;
    lastUsedOther = lastUsed;
    lastUsed = group;
  }

  function take({ group }: SlotRequest): void {
    if (isIdle(group)) busy++;
    running++;
    group.running++;
  }

  function takeCapacity(request: SlotRequest): void {
    for (const limit of request.limits) limit.running++;
  }

  function wait(request: SlotRequest, list: "resuming" | "starting", cancellation: Cancellation): Promise<void> {
    const { group } = request;
    const admission = new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        request,
        admit() {
          cancellation.listen(undefined);
          resolve();
        },
      };
      if (isIdle(group)) busy++;
      group[list].add(waiter);
      count(list, 1);
      queue.add(group);
      cancellation.listen((reason) => {
        cancellation.listen(undefined);
        removeFrom(list, waiter);
        if (isIdle(group)) busy--;
        reject(reason);
      });
    });
    return admission.then(() => {
      try {
        cancellation.check();
      } catch (reason) {
        // Cancelled at the moment of admission: it owns a slot and must release it.
        if (list === "starting") release(request);
        leave(request);
        throw reason;
      }
    });
  }

  function count(list: "resuming" | "starting", by: 1 | -1): void {
    if (list === "resuming") resuming += by;
    else {
      starting += by;
      queueLimit.setWaiting(starting);
    }
  }

  function removeFrom(list: "resuming" | "starting", waiter: Waiter): void {
    const { group } = waiter.request;
    group[list].delete(waiter);
    count(list, -1);
    if (group.resuming.size === 0 && group.starting.size === 0) queue.delete(group);
  }

  /** The waiter of a group that can run now. Started queries come first: they hold memory until they are done. */
  function runnableWaiter(group: QueueGroupState): Waiter | undefined {
    if (!hasSlot(group)) return undefined;
    for (const waiter of group.resuming) return waiter;
    for (const waiter of group.starting) return hasCapacity(waiter.request) ? waiter : undefined;
    return undefined;
  }

  function admitNext(): boolean {
    let next: Waiter | undefined;
    for (const group of queue) {
      if (next !== undefined && group.running >= next.request.group.running) continue;
      next = runnableWaiter(group) ?? next;
    }
    if (next === undefined) return false;
    const { request } = next;
    const list = request.group.resuming.has(next) ? "resuming" : "starting";
    if (list === "starting") {
      takeCapacity(request);
      queueLimit.noteAdmission();
    }
    // Before it leaves its list, so that the group stays busy.
    take(request);
    removeFrom(list, next);
    // The other groups come before its next query.
    if (queue.delete(request.group)) queue.add(request.group);
    next.admit();
    return true;
  }

  function admitAll(): void {
    while (queue.size > 0 && running < size && admitNext()) {
      // Each admission may leave capacity for another.
    }
  }

  function leave({ group }: SlotRequest): void {
    running--;
    group.running--;
    if (isIdle(group)) busy--;
    admitAll();
  }

  function release(request: SlotRequest): void {
    if (request.limits.length === 0) return;
    for (const limit of request.limits) limit.running--;
    admitAll();
  }

  function isQueueFull(group: QueueGroupState): boolean {
    const busyGroups = isIdle(group) ? busy + 1 : busy;
    const isOnlyActiveGroup = busyGroups === 1 && !isOtherGroupActive(group);
    return queueLimit.isFull({ waiting: starting, waitingInGroup: group.starting.size, busyGroups, isOnlyActiveGroup });
  }

  return {
    request: (group, connections) => requestOf(group ?? ownGroup(connections), connections),
    // Undefined when it need not wait: the common case creates no promise.
    enter(request, cancellation) {
      cancellation.check();
      const { group } = request;
      noteUse(group);
      if (group.resuming.size === 0 && group.starting.size === 0 && hasSlot(group) && hasCapacity(request)) {
        take(request);
        takeCapacity(request);
        return undefined;
      }
      if (isQueueFull(group)) throw new RequestFailure({ kind: "overloaded" });
      return wait(request, "starting", cancellation);
    },
    reenter(request, cancellation) {
      cancellation.check();
      if (request.group.resuming.size > 0 || !hasSlot(request.group)) return wait(request, "resuming", cancellation);
      take(request);
      return undefined;
    },
    tryEnter(request) {
      if (queue.size > 0 || !hasSlot(request.group) || !hasCapacity(request)) return false;
      take(request);
      takeCapacity(request);
      return true;
    },
    leave,
    release,
    running: () => running,
    waiting: () => resuming + starting,
  };
}

/** For Eider's own work. Queries that wait for one connection do not block those that use others. */
function ownGroup(connections: readonly string[]): QueueGroup {
  return { name: `\0${connections.join("\0")}`, maxConcurrency: undefined };
}
