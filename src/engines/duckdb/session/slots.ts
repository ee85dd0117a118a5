import { RequestFailure } from "../../../failure.ts";
import type { QueueGroup } from "../../engine.ts";
import { abandonable, type Cancellation } from "./cancellation.ts";
import { openQueueBound } from "./queue-bound.ts";

/**
 * How much native work runs at once. Endpoints share the slots, not calls: whoever has the fewest at work goes next, so that a
 * slow endpoint with a long queue keeps nobody else waiting. Within a group it is first come, first served.
 */
export interface Slots {
  /** What a piece of work of this group needs, over these connections. */
  request(group: QueueGroup | undefined, connections: readonly string[]): SlotRequest;
  /** Waits for a slot, and for room on the connections; an `overloaded` failure when too many wait already. */
  enter(request: SlotRequest, cancellation: Cancellation): Promise<void> | undefined;
  /** Like `enter`, for work that has begun already: it is never turned away, and has its room on the connections. */
  reenter(request: SlotRequest, cancellation: Cancellation): Promise<void> | undefined;
  /** Takes what `enter` takes when it is to be had at once. */
  tryEnter(request: SlotRequest): boolean;
  /** Gives the slot away. */
  leave(request: SlotRequest): void;
  /** The work is done: gives the room on its connections away. */
  release(request: SlotRequest): void;
  running(): number;
  waiting(): number;
}

/** What a piece of work takes while it runs. */
export interface SlotRequest {
  readonly group: QueueGroupState;
  readonly limits: readonly ConnectionLimit[];
}

interface QueueGroupState {
  readonly name: string;
  /** For work that uses no connection with a bound of its own: most of it, so it is made once. */
  readonly plain: SlotRequest;
  limit: number;
  running: number;
  /** In order of arrival; whoever gives up leaves at once. */
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
  /** How many may wait. Undefined: as many as will have their turn soon. */
  readonly maxWaiting: number | undefined;
  /** How many at once each connection takes, where it has a bound. */
  readonly limits?: ReadonlyMap<string, number>;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** The groups of a project are few; names of earlier ones go when there are many. */
const MOST_GROUPS = 1_000;
/** A group that was used within this time is expected to come again. */
const RECENT_MS = 30_000;
/** With fewer slots none is kept free. */
const FEWEST_TO_KEEP_ONE = 4;
const NO_LIMITS: readonly ConnectionLimit[] = [];

export function openSlots({ size, maxWaiting, limits, now = () => performance.now() }: SlotsOptions): Slots {
  const bounded = new Map(
    [...(limits ?? [])].map(([name, limit]): [string, ConnectionLimit] => [name, { limit, running: 0 }]),
  );
  const groups = new Map<string, QueueGroupState>();
  /** Groups in which somebody waits, in the order of their last turns. */
  const queue = new Set<QueueGroupState>();
  const bound = openQueueBound({ size, maxWaiting, now });
  /** The last slots are for groups that have none: whoever comes beside a flood of slow queries does not wait for one of them. */
  const kept = size < FEWEST_TO_KEEP_ONE ? 0 : Math.max(1, size >> 3);
  let running = 0;
  let begun = 0;
  let fresh = 0;
  /** Groups with work that runs or waits. */
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

  /** Whether others than this group have been here lately. */
  function hasCompany(group: QueueGroupState): boolean {
    const other = latest === group ? latestOther : latest;
    return other !== undefined && (!isIdle(other) || now() - other.usedAt < RECENT_MS);
  }

  function hasSlot(group: QueueGroupState): boolean {
    if (running >= size || group.running >= group.limit) return false;
    return size - running > kept || group.running === 0 || !hasCompany(group);
  }

  const hasRoom = (request: SlotRequest): boolean => request.limits.every((each) => each.running < each.limit);

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

  function takeRoom(request: SlotRequest): void {
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
      // Cancelled in the very moment of its turn: it owns a slot and must hand it on.
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

  /** Who waits in a group and could run now. What has begun comes first: it holds memory until it is done. */
  function runnable(group: QueueGroupState): Waiter | undefined {
    if (!hasSlot(group)) return undefined;
    for (const waiter of group.begun) return waiter;
    for (const waiter of group.fresh) return hasRoom(waiter.request) ? waiter : undefined;
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
      takeRoom(request);
      bound.moved();
    }
    // Before it goes from its line: the group is busy all the time.
    take(request);
    removeFrom(line, next);
    // Its next turn comes after those of all the others.
    if (queue.delete(request.group)) queue.add(request.group);
    next.admitted = true;
    next.admit();
    return true;
  }

  function admitAll(): void {
    while (queue.size > 0 && running < size && admitNext()) {
      // Each turn may leave room for another.
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
    // Undefined when there is room: the common case costs no promise.
    enter(request, cancellation) {
      cancellation.check();
      const { group } = request;
      note(group);
      if (group.begun.size === 0 && group.fresh.size === 0 && hasSlot(group) && hasRoom(request)) {
        take(request);
        takeRoom(request);
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
      if (queue.size > 0 || !hasSlot(request.group) || !hasRoom(request)) return false;
      take(request);
      takeRoom(request);
      return true;
    },
    leave,
    release,
    running: () => running,
    waiting: () => begun + fresh,
  };
}

/** Work of our own. What waits for one connection is not in the way of what needs others. */
function ownGroup(connections: readonly string[]): QueueGroup {
  return { name: `\0${connections.join("\0")}`, maxConcurrency: undefined };
}
