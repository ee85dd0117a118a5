import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/suites/duckdb-engine.ts";
import { RequestFailure } from "../../failure.ts";
import type { QueueGroup } from "../engine.ts";
import { cancellationOf } from "./cancellation.ts";
import type { SlotQuery, SlotRequest } from "./queue-groups.ts";
import { openSlots, type Slots, type SlotsOptions } from "./slots.ts";

const gone = new RequestFailure({ kind: "cancelled" });
const group = (name: string, maxConcurrency?: number): QueueGroup => ({ name, maxConcurrency });

/** A call on its way: it waits, runs until it is told to leave, or was turned away. */
interface Call {
  readonly request: SlotRequest;
  state(): "waits" | "runs" | "refused" | "cancelled";
  cancel(): void;
  leave(): void;
}

function call(slots: Slots, of: QueueGroup, connections: readonly string[] = []): Call {
  const request = slots.request({ queueGroup: of, connections });
  const controller = new AbortController();
  let state: ReturnType<Call["state"]> = "waits";
  const settle = (error: unknown): void => {
    state = error === gone ? "cancelled" : "refused";
  };
  try {
    const turn = slots.enter(request, cancellationOf(controller.signal));
    if (turn === undefined) state = "runs";
    else
      turn.then(() => {
        state = "runs";
      }, settle);
  } catch (error) {
    settle(error);
  }
  return {
    request,
    state: () => state,
    cancel: () => controller.abort(gone),
    leave() {
      slots.release(request);
      slots.leave(request);
    },
  };
}

const calls = (count: number, make: () => Call): readonly Call[] => Array.from({ length: count }, make);
const running = (all: readonly Call[]): number => all.filter((each) => each.state() === "runs").length;
/** Lets admitted calls continue. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function opened(options: Partial<SlotsOptions> = {}): Slots & { pass(ms: number): void } {
  let clock = 0;
  const slots = openSlots({ size: 4, maxWaiting: 1000, now: () => clock, ...options });
  return {
    ...slots,
    pass: (ms) => {
      clock += ms;
    },
  };
}

describe("fair shares", () => {
  test("a group alone has all slots, and its calls come in order", async () => {
    const slots = opened();
    const all = calls(7, () => call(slots, group("a")));
    expect(all.map((each) => each.state())).toEqual(["runs", "runs", "runs", "runs", "waits", "waits", "waits"]);
    for (const expected of [5, 6, 7]) {
      all[expected - 5]?.leave();
      await settled();
      expect(running(all)).toBe(expected);
      expect(all[expected - 1]?.state()).toBe("runs");
    }
  });

  test("a group beside a flood waits for one query at most, and gets an equal share", async () => {
    const slots = opened({ size: 2 });
    const flood = calls(100, () => call(slots, group("slow")));
    const others = calls(10, () => call(slots, group("quick")));
    expect([running(flood), running(others)]).toEqual([2, 0]);
    flood[0]?.leave();
    await settled();
    expect([flood[2]?.state(), others[0]?.state()]).toEqual(["waits", "runs"]);
    // From now on one slot is theirs, however long the queries of the others take.
    for (let index = 0; index < 9; index++) {
      others[index]?.leave();
      await settled();
      expect(others[index + 1]?.state()).toBe("runs");
    }
    expect(running(flood)).toBe(2 - 1 + 1);
  });

  test("three groups, ten slots: three each, whichever came first, and one is reserved", async () => {
    const slots = opened({ size: 10 });
    const first = calls(50, () => call(slots, group("a")));
    const second = calls(50, () => call(slots, group("b")));
    const third = calls(50, () => call(slots, group("c")));
    const order = [first, second, third];
    // Everything that runs ends and others come, many times.
    for (let round = 0; round < 12; round++) {
      const now = order.flat().filter((each) => each.state() === "runs");
      for (const each of now) {
        each.leave();
        (each as { state: Call["state"] }).state = () => "refused";
      }
      await settled();
      if (round > 1 && round < 10) for (const groups of order) expect(running(groups)).toBe(3);
    }
  });

  test("where others have been lately, a flood leaves a slot for them", async () => {
    const slots = opened({ size: 8 });
    call(slots, group("quick")).leave();
    const flood = calls(20, () => call(slots, group("slow")));
    expect(running(flood)).toBe(7);
    const quick = call(slots, group("quick"));
    expect(quick.state()).toBe("runs");
    // The second one has to wait: the slot is for those who have none.
    expect(call(slots, group("quick")).state()).toBe("waits");
    expect(call(slots, group("third")).state()).toBe("waits");
    quick.leave();
    await settled();
    expect([running(flood), slots.running()]).toEqual([7, 8]);
  });

  test("with no other group for long, a group has all slots again", () => {
    const slots = opened({ size: 8 });
    call(slots, group("quick")).leave();
    slots.pass(60_000);
    expect(running(calls(20, () => call(slots, group("slow"))))).toBe(8);
  });

  test("what has begun goes on before what has not, in its own group", async () => {
    const slots = opened({ size: 1 });
    const stream = call(slots, group("a"));
    slots.leave(stream.request);
    const second = call(slots, group("a"));
    const third = call(slots, group("a"));
    const back = slots.reenter(stream.request, cancellationOf(new AbortController().signal));
    second.leave();
    await back;
    expect([slots.running(), third.state()]).toEqual([1, "waits"]);
  });
});

describe("bounds of groups and connections", () => {
  test("max-concurrency of a group; the others are not in its way, nor it in theirs", async () => {
    const slots = opened({ size: 8 });
    const bounded = calls(5, () => call(slots, group("report", 2)));
    expect(running(bounded)).toBe(2);
    expect(call(slots, group("quick")).state()).toBe("runs");
    bounded[0]?.leave();
    await settled();
    expect([bounded[2]?.state(), bounded[3]?.state()]).toEqual(["runs", "waits"]);
  });

  test("max-concurrency of a connection counts calls of all groups, to their very end", async () => {
    const slots = opened({ size: 8, limits: new Map([["pg", 1]]) });
    const stream = call(slots, group("rows"), ["pg"]);
    const other = call(slots, group("other"), ["other", "pg", "pg"]);
    const free = call(slots, group("free"), ["other"]);
    expect([stream.state(), other.state(), free.state()]).toEqual(["runs", "waits", "runs"]);
    // Its client reads slowly: it holds no slot, but the source still has its query.
    slots.leave(stream.request);
    await settled();
    expect([slots.running(), other.state()]).toEqual([1, "waits"]);
    expect(slots.tryEnter(slots.request({ queueGroup: group("rows"), connections: ["pg"] }))).toBe(false);
    slots.release(stream.request);
    await settled();
    expect([slots.running(), other.state()]).toEqual([2, "runs"]);
  });
});

describe("local and remote queries", () => {
  const limited = { size: 8, maxLocal: 3, isRemote: ({ connections }: SlotQuery) => connections.includes("pg") };
  const signal = new AbortController().signal;

  test("a group alone runs so many local queries, and remote ones in all slots", async () => {
    const slots = opened(limited);
    const local = calls(20, () => call(slots, group("a")));
    expect(running(local)).toBe(3);
    local[0]?.leave();
    await settled();
    expect([local[0]?.state(), local[3]?.state(), local[4]?.state()]).toEqual(["runs", "runs", "waits"]);
    const remote = opened(limited);
    expect(running(calls(20, () => call(remote, group("a"), ["other", "pg"])))).toBe(8);
  });

  test("without a limit of their own, local queries take all slots", () => {
    const slots = opened({ ...limited, maxLocal: undefined });
    expect(running(calls(20, () => call(slots, group("a"))))).toBe(8);
  });

  test("local queries leave slots for remote ones, and remote ones do not count as local", async () => {
    const slots = opened(limited);
    const local = calls(20, () => call(slots, group("local")));
    const remote = calls(20, () => call(slots, group("remote"), ["pg"]));
    // The last slot is reserved for a group that runs nothing.
    expect([running(local), running(remote)]).toEqual([3, 4]);
    for (const each of remote.slice(0, 4)) each.leave();
    await settled();
    expect([running(local), running(remote), slots.running()]).toEqual([3, 8, 7]);
  });

  test("a group that runs nothing need not wait for local queries of others; its second query does", async () => {
    const slots = opened(limited);
    const slow = calls(20, () => call(slots, group("slow")));
    const quick = calls(3, () => call(slots, group("quick")));
    expect([running(slow), quick.map((each) => each.state())]).toEqual([3, ["runs", "waits", "waits"]]);
    expect(call(slots, group("third")).state()).toBe("runs");
    quick[0]?.leave();
    await settled();
    expect(quick.map((each) => each.state())).toEqual(["runs", "runs", "waits"]);
    // Five run, two more than the limit: two have to end before the next one of a group that has one.
    for (const each of slow.slice(0, 2)) each.leave();
    await settled();
    expect([slots.running(), running(slow), quick[2]?.state()]).toEqual([3, 3, "waits"]);
    quick[1]?.leave();
    await settled();
    expect([slots.running(), quick[2]?.state()]).toEqual([3, "runs"]);
  });

  test("one query per group is an exception within all slots only", () => {
    const slots = opened(limited);
    const groups = Array.from({ length: 12 }, (_, index) => call(slots, group(`${index}`)));
    expect(running(groups)).toBe(8);
  });

  test("a stream that goes on waits for a local slot, and comes before those that have not begun", async () => {
    const slots = opened(limited);
    const [stream, ...others] = calls(10, () => call(slots, group("a"))) as [Call, ...Call[]];
    slots.leave(stream.request);
    await settled();
    expect(running(others)).toBe(3);
    let isBack = false;
    const back = slots.reenter(stream.request, cancellationOf(signal))?.then(() => {
      isBack = true;
    });
    await settled();
    expect(isBack).toBe(false);
    others[0]?.leave();
    await back;
    expect([slots.running(), others[3]?.state()]).toEqual([3, "waits"]);
  });

  test("a second slot for the same call is never waited for", () => {
    const slots = opened(limited);
    const [first] = calls(3, () => call(slots, group("a"))) as [Call];
    expect(slots.tryEnter(slots.request({ queueGroup: group("a"), connections: [] }))).toBe(false);
    expect(slots.tryEnter(slots.request({ queueGroup: group("a"), connections: ["pg"] }))).toBe(true);
    first.leave();
    expect(slots.tryEnter(slots.request({ queueGroup: group("a"), connections: [] }))).toBe(true);
  });

  test("whatever the order, every call gets its turn, and all slots are free in the end", async () => {
    const slots = opened({ ...limited, maxLocal: 2, limits: new Map([["pg", 2]]) });
    const all = Array.from({ length: 300 }, (_, index) =>
      call(slots, group(`${index % 5}`), index % 3 === 0 ? ["pg"] : []),
    );
    const left = new Set<Call>();
    while (left.size < all.length) {
      const now = all.filter((each) => each.state() === "runs" && !left.has(each));
      expect(now.length).toBeGreaterThan(0);
      expect(now.filter(({ request }) => !request.isRemote).length).toBeLessThanOrEqual(5);
      for (const each of now) {
        each.leave();
        left.add(each);
      }
      await settled();
    }
    expect([slots.running(), slots.waiting()]).toEqual([0, 0]);
  });
});

describe("connections to other machines", () => {
  const isRemote = ({ connections }: SlotQuery): boolean => connections.length > 0;
  const sources = ["pg", "mysql"];
  const overEach = (slots: Slots, connection: string): readonly Call[] =>
    Array.from({ length: 20 }, (_, index) => call(slots, group(`${connection}${index}`), [connection]));

  test("one of them leaves a quarter of the slots while other data are used", async () => {
    for (const other of [[], ["mysql"]]) {
      const slots = opened({ size: 8, isRemote, sources });
      call(slots, group("other"), other).leave();
      const flood = overEach(slots, "pg");
      expect(running(flood)).toBe(6);
      const others = ["a", "b"].map((name) => call(slots, group(name), other));
      expect(others.map((each) => each.state())).toEqual(["runs", "runs"]);
      for (const each of [...flood.slice(0, 2), ...others]) each.leave();
      await settled();
      expect([running(flood), slots.running()]).toEqual([8, 6]);
    }
  });

  test("without other queries for long, it has all slots", () => {
    const slots = opened({ size: 8, isRemote, sources });
    expect(running(overEach(slots, "pg"))).toBe(8);
    const later = opened({ size: 8, isRemote, sources });
    call(later, group("local")).leave();
    later.pass(60_000);
    expect(running(overEach(later, "pg"))).toBe(8);
  });

  test("one that hangs gives its slots back, once", async () => {
    const slots = opened({ size: 8, isRemote, sources });
    const flood = overEach(slots, "pg");
    const waiting = calls(3, () => call(slots, group("local")));
    expect([running(flood), running(waiting)]).toEqual([8, 0]);
    for (const each of flood.slice(8)) each.cancel();
    slots.free("pg");
    await settled();
    expect([running(waiting), slots.running(), slots.waiting()]).toEqual([3, 3, 0]);
    // It responds again: its queries end, and others run in all slots.
    for (const each of flood.slice(0, 8)) each.leave();
    for (const each of waiting) each.leave();
    expect(slots.running()).toBe(0);
    slots.pass(60_000);
    expect(running(overEach(slots, "pg"))).toBe(8);
  });

  test("there are only so many threads for queries that hang", () => {
    const slots = opened({ size: 40, isRemote, sources });
    const all = [...overEach(slots, "pg"), ...overEach(slots, "mysql")];
    const count = running(all);
    slots.free("pg");
    slots.free("mysql");
    expect(slots.running()).toBe(count - 24);
    for (const each of all) if (each.state() === "runs") each.leave();
    expect(slots.running()).toBe(0);
  });
});

describe("beyond the bound", () => {
  test("a fixed bound: as many wait, the next is refused at once", () => {
    const slots = opened({ size: 1, maxWaiting: 2 });
    const all = calls(4, () => call(slots, group("a")));
    expect(all.map((each) => each.state())).toEqual(["runs", "waits", "waits", "refused"]);
    expect(slots.waiting()).toBe(2);
    expect(call(opened({ size: 1, maxWaiting: 0 }), group("a")).state()).toBe("runs");
  });

  test("without a queue, what finds no slot is rejected", () => {
    const slots = opened({ size: 1, maxWaiting: 0 });
    expect(calls(2, () => call(slots, group("a"))).map((each) => each.state())).toEqual(["runs", "refused"]);
  });

  test("one group cannot fill the queue where there are others", () => {
    const slots = opened({ size: 1, maxWaiting: 8 });
    call(slots, group("quick")).leave();
    const flood = calls(20, () => call(slots, group("slow")));
    expect(flood.filter((each) => each.state() === "waits")).toHaveLength(6);
    const quick = calls(5, () => call(slots, group("quick")));
    expect(quick.map((each) => each.state())).toEqual(["waits", "waits", "refused", "refused", "refused"]);
  });

  test("without a fixed bound a burst may wait, a queue that never empties may not", async () => {
    const slots = opened({ size: 2, maxWaiting: undefined });
    const burst = calls(302, () => call(slots, group("a")));
    expect([running(burst), slots.waiting()]).toEqual([2, 300]);
    const later: Call[] = [];
    for (const [index, each] of burst.entries()) {
      // One of them every 2 ms: 125 within the time that one should wait.
      slots.pass(2);
      each.leave();
      await settled();
      // The queue has stood for long enough to be no burst.
      if (index < 60) continue;
      const accepts = slots.waiting() < 125;
      const one = call(slots, group("a"));
      expect(one.state() !== "refused").toBe(accepts);
      if (accepts) later.push(one);
    }
    expect(later.length).toBeGreaterThan(5);
    for (const each of later) {
      slots.pass(2);
      each.leave();
      await settled();
    }
    expect([slots.waiting(), slots.running()]).toEqual([0, 0]);
    // With slow queries a small team still fits into the queue; later the measurement expires.
    for (const each of calls(80, () => call(slots, group("a")))) {
      slots.pass(50);
      each.leave();
      await settled();
    }
    const accepted = (): number => {
      const all = calls(500, () => call(slots, group("a")));
      for (const each of all) each.cancel();
      return all.filter((each) => each.state() === "waits").length;
    };
    slots.pass(1_000);
    expect(accepted()).toBe(80);
    await settled();
    slots.pass(60_000);
    expect(accepted()).toBe(500);
  });
});

describe("giving up", () => {
  test("a waiting call can leave, and the next one moves up", async () => {
    const slots = opened({ size: 1 });
    const [first, second, third] = calls(3, () => call(slots, group("a"))) as [Call, Call, Call];
    second.cancel();
    await settled();
    expect([second.state(), slots.waiting()]).toEqual(["cancelled", 1]);
    first.leave();
    await settled();
    expect(third.state()).toBe("runs");
  });

  test("cancelled in the moment of its turn, it hands its slot and its connection on", async () => {
    const slots = opened({ size: 1, limits: new Map([["pg", 1]]) });
    const [first, second, third] = calls(3, () => call(slots, group("a"), ["pg"])) as [Call, Call, Call];
    first.leave();
    second.cancel();
    await settled();
    expect([second.state(), third.state()]).toEqual(["cancelled", "runs"]);
    third.leave();
    expect([slots.running(), slots.waiting()]).toEqual([0, 0]);
    expect(call(slots, group("b"), ["pg"]).state()).toBe("runs");
  });

  test("what was cancelled before takes nothing", async () => {
    const slots = opened({ size: 1 });
    const request = slots.request({ connections: [] });
    const enter = async (): Promise<void> => slots.enter(request, cancellationOf(AbortSignal.abort(gone)));
    expect(await failureOf(enter())).toBe(gone);
    expect(slots.running()).toBe(0);
  });
});
