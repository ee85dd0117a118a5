import { RequestFailure } from "../../../failure.ts";
import type { QueueGroup } from "../../engine.ts";
import { abandonable, type Cancellation } from "./cancellation.ts";
import { openQueueBound } from "./queue-bound.ts";

/**
 * Limits how much native work runs at once. Queue groups (endpoints) share the slots: the one with the fewest running queries
 * goes next, so that a slow endpoint with a long queue delays no other. Within a group it is first come, first served.
 */
export interface Slots {
  /** The request of a query of this group over these connections. */
  request(group: QueueGroup | undefined, connections: readonly string[]): SlotRequest;
  /** Waits for a slot and for capacity on the connections; an `overloaded` failure when the queue is full. */
  enter(request: SlotRequest, cancellation: Cancellation): Promise<void> | undefined;
  /** Like `enter`, for a query that has already started: it is never rejected, and keeps its capacity on the connections. */
  reenter(request: SlotRequest, cancellation: Cancellation): Promise<void> | undefined;
  /** Enters if that needs no waiting. */
  tryEnter(request: SlotRequest): boolean;
  /** Releases the slot. */
  leave(request: SlotRequest): void;
  /** The query is done: releases its capacity on the connections. */
  release(request: SlotRequest): void;
  running(): number;
  waiting(): number;
}

/** What a query takes while it runs. */
export interface SlotRequest {
  readonly group: QueueGroupState;
  readonly limits: readonly ConnectionLimit[];
}

interface QueueGroupState {
  readonly name: string;
  /** For queries over connections without a limit, as most are: created once. */
  readonly plain: SlotRequest;
  limit: number;
  running: number;
  /** In order of arrival; a cancelled one leaves at once. */
  readonly begun: Set<Waiter>;
  readonly fresh: Set<Waiter>;
  usedAt: number;
}

interface ConnectionLimit {
  readonly limit: number;
  running: number;
}

interface Waiter {
  readonly request: SlotRequest;
  admitted: boolean;
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

/** A project has few groups; those of earlier versions are dropped when there are many. */
const MOST_GROUPS = 1_000;
/** A group that was used within this time is expected to be used again. */
const RECENT_MS = 30_000;
/** With fewer slots none is reserved. */
const FEWEST_TO_KEEP_ONE = 4;
const NO_LIMITS: readonly ConnectionLimit[] = [];

export function openSlots({ size, maxWaiting, limits, now = () => performance.now() }: SlotsOptions): Slots {
  const bounded = new Map(
    [...(limits ?? [])].map(([name, limit]): [string, ConnectionLimit] => [name, { limit, running: 0 }]),
  );
  const groups = new Map<string, QueueGroupState>();
  /** Groups with waiting queries, in the order of their last admission. */
  const queue = new Set<QueueGroupState>();
  const bound = openQueueBound({ size, maxWaiting, now });
  /** The last slots are reserved for groups that run nothing, so that these need not wait behind a flood of slow queries. */
  const reserved = size < FEWEST_TO_KEEP_ONE ? 0 : Math.max(1, size >> 3);
  let running = 0;
  let begun = 0;
  let fresh = 0;
  /** Groups with running or waiting queries. */
  let busy = 0;
  let latest: QueueGroupState | undefined;
  let latestOther: QueueGroupState | undefined;

  function groupOf({ name, maxConcurrency }: QueueGroup): QueueGroupState {
    const group = groups.get(name) ?? addGroup(name);
    group.limit = maxConcurrency ?? size;
    return group;
  }

  function addGroup(name: string): QueueGroupState {
    if (groups.size >= MOST_GROUPS) for (const [old, group] of groups) if (isIdle(group)) groups.delete(old);
    const group: QueueGroupState = {
      name,
      limit: size,
      running: 0,
      begun: new Set(),
      fresh: new Set(),
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
    return group.running === 0 && group.begun.size === 0 && group.fresh.size === 0;
  }

  function requestOf(group: QueueGroup, connections: readonly string[]): SlotRequest {
    const state = groupOf(group);
    if (bounded.size === 0 || !connections.some((name) => bounded.has(name))) return state.plain;
    return { group: state, limits: [...new Set(connections)].flatMap((name) => bounded.get(name) ?? []) };
  }

  /** Whether another group was used recently. */
  function hasCompany(group: QueueGroupState): boolean {
    const other = latest === group ? latestOther : latest;
    return other !== undefined && (!isIdle(other) || now() - other.usedAt < RECENT_MS);
  }

  function hasSlot(group: QueueGroupState): boolean {
    if (running >= size || group.running >= group.limit) return false;
    return size - running > reserved || group.running === 0 || !hasCompany(group);
  }

  const hasCapacity = (request: SlotRequest): boolean => request.limits.every((each) => each.running < each.limit);

  function note(group: QueueGroupState): void {
    group.usedAt = now();
    if (latest === group) return;
    latestOther = latest;
    latest = group;
  }

  function take({ group }: SlotRequest): void {
    if (isIdle(group)) busy++;
    running++;
    group.running++;
  }

  function takeCapacity(request: SlotRequest): void {
    for (const limit of request.limits) limit.running++;
  }

  async function wait(request: SlotRequest, line: "begun" | "fresh", cancellation: Cancellation): Promise<void> {
    const { group } = request;
    let admit = (): void => {};
    const turn = new Promise<void>((resolve) => {
      admit = resolve;
    });
    const waiter: Waiter = { request, admitted: false, admit };
    if (isIdle(group)) busy++;
    group[line].add(waiter);
    count(line, 1);
    queue.add(group);
    try {
      await abandonable(cancellation, turn);
      cancellation.check();
    } catch (reason) {
      // Cancelled at the moment of admission: it owns a slot and must release it.
      if (waiter.admitted) {
        if (line === "fresh") release(request);
        leave(request);
      } else {
        removeFrom(line, waiter);
        if (isIdle(group)) busy--;
      }
      throw reason;
    }
  }

  function count(line: "begun" | "fresh", by: 1 | -1): void {
    if (line === "begun") begun += by;
    else {
      fresh += by;
      bound.waiting(fresh);
    }
  }

  function removeFrom(line: "begun" | "fresh", waiter: Waiter): void {
    const { group } = waiter.request;
    group[line].delete(waiter);
    count(line, -1);
    if (group.begun.size === 0 && group.fresh.size === 0) queue.delete(group);
  }

  /** The waiter of a group that could run now. Started queries come first: they hold memory until they are done. */
  function runnable(group: QueueGroupState): Waiter | undefined {
    if (!hasSlot(group)) return undefined;
    for (const waiter of group.begun) return waiter;
    for (const waiter of group.fresh) return hasCapacity(waiter.request) ? waiter : undefined;
    return undefined;
  }

  function admitNext(): boolean {
    let next: Waiter | undefined;
    for (const group of queue) {
      if (next !== undefined && group.running >= next.request.group.running) continue;
      next = runnable(group) ?? next;
    }
    if (next === undefined) return false;
    const { request } = next;
    const line = request.group.begun.has(next) ? "begun" : "fresh";
    if (line === "fresh") {
      takeCapacity(request);
      bound.moved();
    }
    // Before it leaves its line, so that the group stays busy.
    take(request);
    removeFrom(line, next);
    // The other groups come before its next query.
    if (queue.delete(request.group)) queue.add(request.group);
    next.admitted = true;
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

  function isRejected(group: QueueGroupState): boolean {
    const busyGroups = isIdle(group) ? busy + 1 : busy;
    const isAlone = busyGroups === 1 && !hasCompany(group);
    return bound.isFull({ waiting: fresh, ofGroup: group.fresh.size, groups: busyGroups, isAlone });
  }

  return {
    request: (group, connections) => requestOf(group ?? ownGroup(connections), connections),
    // Undefined when it need not wait: the common case creates no promise.
    enter(request, cancellation) {
      cancellation.check();
      const { group } = request;
      note(group);
      if (group.begun.size === 0 && group.fresh.size === 0 && hasSlot(group) && hasCapacity(request)) {
        take(request);
        takeCapacity(request);
        return undefined;
      }
      if (isRejected(group)) throw new RequestFailure({ kind: "overloaded" });
      return wait(request, "fresh", cancellation);
    },
    reenter(request, cancellation) {
      cancellation.check();
      if (request.group.begun.size > 0 || !hasSlot(request.group)) return wait(request, "begun", cancellation);
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
    waiting: () => begun + fresh,
  };
}

/** For Eider's own work. Queries that wait for one connection do not block those that use others. */
function ownGroup(connections: readonly string[]): QueueGroup {
  return { name: `\0${connections.join("\0")}`, maxConcurrency: undefined };
}
