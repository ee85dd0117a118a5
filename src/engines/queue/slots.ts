import { RequestFailure } from "../../failure.ts";
import type { Cancellation } from "./cancellation.ts";
import {
  isIdle,
  openQueueGroups,
  type QueueGroupState,
  type SlotQuery,
  type SlotRequest,
  type Source,
  type Waiter,
} from "./queue-groups.ts";
import { openQueueLimit } from "./queue-limit.ts";

/**
 * Limits how much native work runs at once. Queue groups (endpoints) share the slots: the one with the fewest running queries
 * goes next, so that a slow endpoint with a long queue delays no other. Within a group it is first come, first served.
 *
 * Local queries compete for the cores, with each other and with the thread that answers requests, so fewer of them run at once
 * than of those that mostly wait for another machine.
 *
 * If another machine does not respond, the queries that wait for it keep their slots. So one connection cannot take them all while
 * queries over others arrive.
 */
export interface Slots {
  request(query: SlotQuery): SlotRequest;
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
  /** Takes the slots from the queries over a connection that hangs. These queries cannot be interrupted, but need no core. */
  free(connection: string): void;
  running(): number;
  waiting(): number;
}

export interface SlotsOptions {
  readonly size: number;
  /** How many slots local queries may take, beyond one per group. All by default. */
  readonly maxLocal?: number | undefined;
  /** How many may wait. Undefined: as many as will run soon. */
  readonly maxWaiting: number | undefined;
  /** Concurrent queries per connection, where limited. */
  readonly limits?: ReadonlyMap<string, number>;
  /** Whether a query mostly waits for another machine. */
  readonly isRemote?: (query: SlotQuery) => boolean;
  /** The names of connections to other machines. */
  readonly sources?: readonly string[];
  /** Milliseconds. */
  readonly now?: () => number;
}

/** A group that was used within this time is expected to be used again. */
const RECENT_MS = 30_000;
/** With fewer slots none is reserved. */
const MIN_SLOTS_TO_RESERVE = 4;
/** Each query keeps one of libuv's threads, even if it hangs. There are a few more (see bin/eider.cjs). */
const MAX_THREADS = 64;

export function openSlots(options: SlotsOptions): Slots {
  const { size, maxLocal = size, maxWaiting, limits = new Map(), isRemote = () => false } = options;
  const { now = () => performance.now() } = options;
  const sources = new Map(
    options.sources?.map((name): [string, Source] => [name, { running: new Set(), usedAt: Number.NEGATIVE_INFINITY }]),
  );
  const request = openQueueGroups({ size, limits, isRemote, sources });
  /** Groups with waiting queries, in the order of their last admission. */
  const queue = new Set<QueueGroupState>();
  const queueLimit = openQueueLimit({ slots: size, maxWaiting, now });
  /** The last slots are reserved for groups that run nothing, so that these need not wait behind a flood of slow queries. */
  const reserved = size < MIN_SLOTS_TO_RESERVE ? 0 : Math.max(1, size >> 3);
  /** How many slots the queries over one source may take while others are used. */
  const maxPerSource = size < MIN_SLOTS_TO_RESERVE ? size : size - Math.max(1, size >> 2);
  let running = 0;
  let runningLocal = 0;
  let resuming = 0;
  let starting = 0;
  /** Groups with running or waiting queries. */
  let busy = 0;
  let lastUsed: QueueGroupState | undefined;
  let lastUsedOther: QueueGroupState | undefined;
  /** When a query without sources was last used. */
  let usedLocallyAt = Number.NEGATIVE_INFINITY;
  /** Queries that run without a slot, because their source hangs. */
  let hanging = 0;

  /** Whether another group is busy or was used recently. */
  function isOtherGroupActive(group: QueueGroupState): boolean {
    const other = lastUsed === group ? lastUsedOther : lastUsed;
    return other !== undefined && (!isIdle(other) || now() - other.usedAt < RECENT_MS);
  }

  /** Whether a query that does not use this source was used recently. */
  function isOtherSourceActive(source: Source): boolean {
    const isRecent = (usedAt: number): boolean => now() - usedAt < RECENT_MS;
    if (isRecent(usedLocallyAt)) return true;
    for (const other of sources.values()) if (other !== source && isRecent(other.usedAt)) return true;
    return false;
  }

  function hasSlot({ group, isRemote, sources: used }: SlotRequest): boolean {
    if (running >= size || group.running >= group.limit) return false;
    for (const source of used) if (source.running.size >= maxPerSource && isOtherSourceActive(source)) return false;
    // Otherwise, slow queries of a few groups would keep all others waiting.
    if (!isRemote && runningLocal >= maxLocal && group.running > 0) return false;
    return size - running > reserved || group.running === 0 || !isOtherGroupActive(group);
  }

  const hasCapacity = (request: SlotRequest): boolean => request.limits.every((each) => each.running < each.limit);

  function noteUse({ group, sources: used }: SlotRequest): void {
    const at = now();
    group.usedAt = at;
    if (used.length === 0) usedLocallyAt = at;
    for (const source of used) source.usedAt = at;
    if (lastUsed === group) return;
    lastUsedOther = lastUsed;
    lastUsed = group;
  }

  function take(request: SlotRequest): void {
    const { group, isRemote, sources: used } = request;
    if (isIdle(group)) busy++;
    running++;
    if (!isRemote) runningLocal++;
    group.running++;
    for (const source of used) source.running.add(request);
  }

  function giveBack(request: SlotRequest): void {
    const { group, isRemote, sources: used } = request;
    running--;
    if (!isRemote) runningLocal--;
    group.running--;
    for (const source of used) source.running.delete(request);
    if (isIdle(group)) busy--;
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
    for (const waiter of group.resuming) return hasSlot(waiter.request) ? waiter : undefined;
    for (const waiter of group.starting) {
      return hasSlot(waiter.request) && hasCapacity(waiter.request) ? waiter : undefined;
    }
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

  function leave(request: SlotRequest): void {
    // `free` has taken its slot.
    if (request.sources[0]?.running.has(request) === false) hanging--;
    else giveBack(request);
    admitAll();
  }

  function free(connection: string): void {
    for (const request of sources.get(connection)?.running ?? []) {
      if (hanging + size >= MAX_THREADS) break;
      giveBack(request);
      hanging++;
    }
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
    request,
    // Undefined when it need not wait: the common case creates no promise.
    enter(request, cancellation) {
      cancellation.check();
      const { group } = request;
      noteUse(request);
      if (group.resuming.size === 0 && group.starting.size === 0 && hasSlot(request) && hasCapacity(request)) {
        take(request);
        takeCapacity(request);
        return undefined;
      }
      if (isQueueFull(group)) throw new RequestFailure({ kind: "overloaded" });
      return wait(request, "starting", cancellation);
    },
    reenter(request, cancellation) {
      cancellation.check();
      if (request.group.resuming.size > 0 || !hasSlot(request)) return wait(request, "resuming", cancellation);
      take(request);
      return undefined;
    },
    tryEnter(request) {
      if (queue.size > 0 || !hasSlot(request) || !hasCapacity(request)) return false;
      take(request);
      takeCapacity(request);
      return true;
    },
    leave,
    release,
    free,
    running: () => running,
    waiting: () => resuming + starting,
  };
}
