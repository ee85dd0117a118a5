import { RequestFailure } from "../../../failure.ts";
import type { QueueGroup } from "../../engine.ts";
import { abandonable, type Cancellation } from "./cancellation.ts";
import { openQueueBound } from "./queue-bound.ts";

/**
 * How much native work runs at once. Endpoints share the slots, not calls: whoever has the fewest at work goes next, so that a
 * slow endpoint with a long queue keeps nobody else waiting. Within a lane it is first come, first served.
 */
export interface Slots {
  /** What a piece of work of this lane needs, over these connections. */
  seat(lane: QueueGroup | undefined, connections: readonly string[]): SlotRequest;
  /** Waits for a slot, and for room on the connections; an `overloaded` failure when too many wait already. */
  enter(seat: SlotRequest, cancellation: Cancellation): Promise<void> | undefined;
  /** Like `enter`, for work that has begun already: it is never turned away, and has its room on the connections. */
  reenter(seat: SlotRequest, cancellation: Cancellation): Promise<void> | undefined;
  /** Takes what `enter` takes when it is to be had at once. */
  tryEnter(seat: SlotRequest): boolean;
  /** Gives the slot away. */
  leave(seat: SlotRequest): void;
  /** The work is done: gives the room on its connections away. */
  release(seat: SlotRequest): void;
  running(): number;
  waiting(): number;
}

/** What a piece of work takes while it runs. */
export interface SlotRequest {
  readonly lane: QueueGroupState;
  readonly sources: readonly ConnectionLimit[];
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
  readonly seat: SlotRequest;
  admitted: boolean;
  admit(): void;
}

export interface SlotsOptions {
  readonly size: number;
  /** How many may wait. Undefined: as many as will have their turn soon. */
  readonly maxWaiting: number | undefined;
  /** How many at once each connection takes, where it has a bound. */
  readonly sources?: ReadonlyMap<string, number>;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** The lanes of a project are few; names of earlier ones go when there are many. */
const MOST_LANES = 1_000;
/** A lane that was used within this time is expected to come again. */
const RECENT_MS = 30_000;
/** With fewer slots none is kept free. */
const FEWEST_TO_KEEP_ONE = 4;
const NO_SOURCES: readonly ConnectionLimit[] = [];

export function openSlots({ size, maxWaiting, sources, now = () => performance.now() }: SlotsOptions): Slots {
  const bounded = new Map(
    [...(sources ?? [])].map(([name, limit]): [string, ConnectionLimit] => [name, { limit, running: 0 }]),
  );
  const lanes = new Map<string, QueueGroupState>();
  /** Lanes in which somebody waits, in the order of their last turns. */
  const queue = new Set<QueueGroupState>();
  const bound = openQueueBound({ size, maxWaiting, now });
  /** The last slots are for lanes that have none: whoever comes beside a flood of slow queries does not wait for one of them. */
  const kept = size < FEWEST_TO_KEEP_ONE ? 0 : Math.max(1, size >> 3);
  let running = 0;
  let begun = 0;
  let fresh = 0;
  /** Lanes with work that runs or waits. */
  let busy = 0;
  let latest: QueueGroupState | undefined;
  let latestOther: QueueGroupState | undefined;

  function laneOf({ name, maxConcurrency }: QueueGroup): QueueGroupState {
    const lane = lanes.get(name) ?? addLane(name);
    lane.limit = maxConcurrency ?? size;
    return lane;
  }

  function addLane(name: string): QueueGroupState {
    if (lanes.size >= MOST_LANES) for (const [old, lane] of lanes) if (isIdle(lane)) lanes.delete(old);
    const lane: QueueGroupState = {
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
    const plain: SlotRequest = { lane, sources: NO_SOURCES };
    lanes.set(name, lane);
    return lane;
  }

  function isIdle(lane: QueueGroupState): boolean {
    return lane.running === 0 && lane.begun.size === 0 && lane.fresh.size === 0;
  }

  function seatOf(lane: QueueGroup, connections: readonly string[]): SlotRequest {
    const state = laneOf(lane);
    if (bounded.size === 0 || !connections.some((name) => bounded.has(name))) return state.plain;
    return { lane: state, sources: [...new Set(connections)].flatMap((name) => bounded.get(name) ?? []) };
  }

  /** Whether others than this lane have been here lately. */
  function hasCompany(lane: QueueGroupState): boolean {
    const other = latest === lane ? latestOther : latest;
    return other !== undefined && (!isIdle(other) || now() - other.usedAt < RECENT_MS);
  }

  function hasSlot(lane: QueueGroupState): boolean {
    if (running >= size || lane.running >= lane.limit) return false;
    return size - running > kept || lane.running === 0 || !hasCompany(lane);
  }

  const hasRoom = (seat: SlotRequest): boolean => seat.sources.every((source) => source.running < source.limit);

  function note(lane: QueueGroupState): void {
    lane.usedAt = now();
    if (latest === lane) return;
    latestOther = latest;
    latest = lane;
  }

  function take({ lane }: SlotRequest): void {
    if (isIdle(lane)) busy++;
    running++;
    lane.running++;
  }

  function takeRoom(seat: SlotRequest): void {
    for (const source of seat.sources) source.running++;
  }

  async function wait(seat: SlotRequest, line: "begun" | "fresh", cancellation: Cancellation): Promise<void> {
    const { lane } = seat;
    let admit = (): void => {};
    const turn = new Promise<void>((resolve) => {
      admit = resolve;
    });
    const waiter: Waiter = { seat, admitted: false, admit };
    if (isIdle(lane)) busy++;
    lane[line].add(waiter);
    count(line, 1);
    queue.add(lane);
    try {
      await abandonable(cancellation, turn);
      cancellation.check();
    } catch (reason) {
      // Cancelled in the very moment of its turn: it owns a slot and must hand it on.
      if (waiter.admitted) {
        if (line === "fresh") release(seat);
        leave(seat);
      } else {
        goFrom(line, waiter);
        if (isIdle(lane)) busy--;
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

  function goFrom(line: "begun" | "fresh", waiter: Waiter): void {
    const { lane } = waiter.seat;
    lane[line].delete(waiter);
    count(line, -1);
    if (lane.begun.size === 0 && lane.fresh.size === 0) queue.delete(lane);
  }

  /** Who waits in a lane and could run now. What has begun comes first: it holds memory until it is done. */
  function runnable(lane: QueueGroupState): Waiter | undefined {
    if (!hasSlot(lane)) return undefined;
    for (const waiter of lane.begun) return waiter;
    for (const waiter of lane.fresh) return hasRoom(waiter.seat) ? waiter : undefined;
    return undefined;
  }

  function admitNext(): boolean {
    let next: Waiter | undefined;
    for (const lane of queue) {
      if (next !== undefined && lane.running >= next.seat.lane.running) continue;
      next = runnable(lane) ?? next;
    }
    if (next === undefined) return false;
    const { seat } = next;
    const line = seat.lane.begun.has(next) ? "begun" : "fresh";
    if (line === "fresh") {
      takeRoom(seat);
      bound.moved();
    }
    // Before it goes from its line: the lane is busy all the time.
    take(seat);
    goFrom(line, next);
    // Its next turn comes after those of all the others.
    if (queue.delete(seat.lane)) queue.add(seat.lane);
    next.admitted = true;
    next.admit();
    return true;
  }

  function admitAll(): void {
    while (queue.size > 0 && running < size && admitNext()) {
      // Each turn may leave room for another.
    }
  }

  function leave({ lane }: SlotRequest): void {
    running--;
    lane.running--;
    if (isIdle(lane)) busy--;
    admitAll();
  }

  function release(seat: SlotRequest): void {
    if (seat.sources.length === 0) return;
    for (const source of seat.sources) source.running--;
    admitAll();
  }

  function isTurnedAway(lane: QueueGroupState): boolean {
    const lanesBusy = isIdle(lane) ? busy + 1 : busy;
    const isAlone = lanesBusy === 1 && !hasCompany(lane);
    return bound.isFull({ waiting: fresh, ofLane: lane.fresh.size, lanes: lanesBusy, isAlone });
  }

  return {
    seat: (lane, connections) => seatOf(lane ?? ownLane(connections), connections),
    // Undefined when there is room: the common case costs no promise.
    enter(seat, cancellation) {
      cancellation.check();
      const { lane } = seat;
      note(lane);
      if (lane.begun.size === 0 && lane.fresh.size === 0 && hasSlot(lane) && hasRoom(seat)) {
        take(seat);
        takeRoom(seat);
        return undefined;
      }
      if (isTurnedAway(lane)) throw new RequestFailure({ kind: "overloaded" });
      return wait(seat, "fresh", cancellation);
    },
    reenter(seat, cancellation) {
      cancellation.check();
      if (seat.lane.begun.size > 0 || !hasSlot(seat.lane)) return wait(seat, "begun", cancellation);
      take(seat);
      return undefined;
    },
    tryEnter(seat) {
      if (queue.size > 0 || !hasSlot(seat.lane) || !hasRoom(seat)) return false;
      take(seat);
      takeRoom(seat);
      return true;
    },
    leave,
    release,
    running: () => running,
    waiting: () => begun + fresh,
  };
}

/** Work of our own. What waits for one connection is not in the way of what needs others. */
function ownLane(connections: readonly string[]): QueueGroup {
  return { name: `\0${connections.join("\0")}`, maxConcurrency: undefined };
}
