import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fakeClock } from "../../test/turned-clock.ts";
import { afterMs, openSchedule, scheduledTask } from "./schedule.ts";
import { freshForMs, openTiming } from "./timing.ts";

const DAY = 24 * 60 * 60 * 1000;

function opened() {
  const clock = fakeClock();
  const schedule = openSchedule(clock);
  const fired: string[] = [];
  const due = (name: string) => scheduledTask(() => fired.push(name));
  return { clock, schedule, fired, due };
}

describe("a schedule", () => {
  test("does what is due in its order, with one timer, and not before it is started", async () => {
    const { clock, schedule, fired, due } = opened();
    const [a, b, c] = [due("a"), due("b"), due("c")];
    schedule.set(a, 300);
    schedule.set(b, 100);
    schedule.set(c, 200);
    await clock.advance(50);
    expect(clock.timers()).toBe(0);
    schedule.start();
    expect(clock.timers()).toBe(1);
    expect(schedule.remaining(a)).toBe(250);
    await clock.advance(60);
    expect(fired).toEqual(["b"]);
    expect(clock.timers()).toBe(1);
    schedule.set(a, 10);
    schedule.clear(c);
    await clock.advance(10_000);
    expect(fired).toEqual(["b", "a"]);
    expect(schedule.remaining(a)).toBeUndefined();
    expect(clock.timers()).toBe(0);
  });

  test("a task that throws does not keep the others from running", async () => {
    const { clock, schedule, fired, due } = opened();
    schedule.set(
      scheduledTask(() => {
        throw new Error("broken");
      }),
      10,
    );
    schedule.set(due("later"), 20);
    schedule.start();
    await expect(clock.advance(15)).rejects.toThrow("broken");
    await clock.advance(15);
    expect(fired).toEqual(["later"]);
  });

  test("what falls due and sets itself again does not go round in circles", async () => {
    const { clock, schedule } = opened();
    let rounds = 0;
    const again = scheduledTask(() => {
      rounds++;
      schedule.set(again, 0);
    });
    schedule.set(again, 0);
    schedule.start();
    await clock.advance(100);
    expect(rounds).toBe(100);
    schedule.close();
    expect(clock.timers()).toBe(0);
    await clock.advance(100);
    expect(rounds).toBe(100);
  });

  test("waits for months, though no timer can", async () => {
    const { clock, schedule, fired, due } = opened();
    schedule.set(due("a"), 60 * DAY);
    schedule.start();
    await clock.advance(60 * DAY - 1);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual(["a"]);
  });

  test("a clock that is set back delays nothing", async () => {
    const { clock, schedule, fired, due } = opened();
    schedule.set(due("a"), 10 * 60_000);
    schedule.start();
    await clock.advance(5 * 60_000);
    clock.set(-DAY);
    await clock.advance(5 * 60_000);
    expect(fired).toEqual(["a"]);
  });

  test("a clock that is set forward, as after sleep, is noticed within a minute, and nothing is due twice", async () => {
    const { clock, schedule, fired, due } = opened();
    schedule.set(due("a"), DAY / 2);
    schedule.set(due("b"), 2 * DAY);
    schedule.start();
    await clock.advance(1_000);
    clock.set(DAY);
    await clock.advance(60_000);
    expect(fired).toEqual(["a"]);
    clock.set(-DAY);
    await clock.advance(DAY);
    expect(fired).toEqual(["a", "b"]);
  });

  test("agrees with a list that is sorted, whatever is set and cleared", async () => {
    const step = fc.record({
      item: fc.nat({ max: 39 }),
      delay: fc.option(fc.integer({ min: 1, max: 1_000 }), { nil: undefined }),
      wait: fc.constantFrom(0, 0, 0, 0, 1, 30, 300),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 300, size: "max" }), async (steps) => {
        const { clock, schedule, fired, due } = opened();
        const items = Array.from({ length: 40 }, (_, index) => due(String(index)));
        const expected: [at: number, name: string][] = [];
        const pending = new Map<string, number>();
        let time = 0;
        schedule.start();
        for (const { item, delay, wait } of steps) {
          const each = items[item];
          if (each === undefined) continue;
          pending.delete(String(item));
          if (delay === undefined) schedule.clear(each);
          else {
            schedule.set(each, delay);
            pending.set(String(item), time + delay);
          }
          time += wait;
          await clock.advance(wait);
          for (const [name, at] of [...pending].filter(([, until]) => until <= time).sort((x, y) => x[1] - y[1])) {
            expected.push([at, name]);
            pending.delete(name);
          }
        }
        // Those of the same moment come in any order.
        const byMoment = (names: readonly string[]) =>
          expected
            .map(([at], index) => [at, names[index]] as const)
            .sort((x, y) => x[0] - y[0] || Number(x[1]) - Number(y[1]));
        expect(fired).toHaveLength(expected.length);
        expect(byMoment(fired)).toEqual(byMoment(expected.map(([, name]) => name)));
      }),
      { numRuns: 200 },
    );
  });
});

test("the timer of the system can be called off", async () => {
  const fired: string[] = [];
  const cancel = afterMs(0, () => fired.push("called off"));
  cancel();
  // The timers keep no process alive, and this test neither.
  const alive = setInterval(() => {}, 1_000);
  await new Promise<void>((resolve) => {
    afterMs(5, resolve);
  });
  clearInterval(alive);
  expect(fired).toEqual([]);
});

describe("timing", () => {
  test.each([
    ["earliest", 0, 54_000],
    ["usual", 0.5, 60_000],
    ["latest", 0.999999, 66_000],
  ])("the %s next refresh is within 10 %% of the period", (_, random, expected) => {
    const timing = openTiming(() => random);
    expect(timing.next(60_000, 0)).toBeCloseTo(expected, -1);
    expect(timing.next(60_000, 5_000)).toBeCloseTo(expected - 5_000, -1);
    expect(timing.next(60_000, 500_000)).toBe(6_000);
  });

  test("at start what is too old comes soon but spread, the rest when it is time", () => {
    expect(openTiming(() => 0).first(60_000, 10 * DAY)).toBe(0);
    expect(openTiming(() => 0.5).first(60_000, 10 * DAY)).toBe(3_000);
    expect(openTiming(() => 0.5).first(DAY, 10 * DAY)).toBe(30_000);
    expect(openTiming(() => 0.5).first(DAY, DAY / 4)).toBe((3 * DAY) / 4);
  });

  test("failures are tried again later and later", () => {
    const { retry } = openTiming(() => 0.5);
    expect([1, 2, 3, 4, 9, 10, 5_000].map((failures) => retry(DAY, failures))).toEqual([
      1_000, 2_000, 4_000, 8_000, 256_000, 300_000, 300_000,
    ]);
    expect(retry(undefined, 100)).toBe(300_000);
    expect(retry(60_000, 100)).toBe(60_000);
    expect(openTiming(() => 0).retry(DAY, 1)).toBe(900);
  });

  test("rows are good for two periods, and as long as it may take to get new ones", () => {
    expect([freshForMs(1_000, 0), freshForMs(1_000, 5_000), freshForMs(undefined, 5_000)]).toEqual([
      2_000,
      7_000,
      Infinity,
    ]);
  });
});
