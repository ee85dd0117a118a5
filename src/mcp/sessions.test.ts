import { expect, test } from "vitest";
import { fakeClock } from "../../test/turned-clock.ts";
import { MAX_SUBSCRIBED_URI_LENGTH, MAX_SUBSCRIPTIONS, openSessions } from "./sessions.ts";

const ann = { owner: "ann", client: "ann" };
const anonymous = { owner: "", client: "10.0.0.1" };
const a = { owner: "a", client: "a" };

function opened(limits?: { readonly total: number; readonly perClient: number }) {
  const clock = fakeClock();
  let count = 0;
  const options = { now: clock.now, randomId: () => `s${++count}` };
  return { clock, sessions: openSessions(limits === undefined ? options : { ...options, limits }) };
}

const MINUTE = 60_000;

test("a session expires half an hour after its last use", async () => {
  const { clock, sessions } = opened();
  const { id } = sessions.open(ann);
  await clock.advance(29 * MINUTE);
  expect(sessions.find(id, "ann")?.id).toBe(id);
  await clock.advance(29 * MINUTE);
  expect(sessions.find(id, "ann")?.id).toBe(id);
  await clock.advance(30 * MINUTE);
  expect(sessions.find(id, "ann")).toBeUndefined();
  expect(sessions.count()).toBe(0);
});

test("a session with an open stream does not expire", async () => {
  const { clock, sessions } = opened();
  const { id, channels } = sessions.open(ann);
  channels.push({ send: () => {}, end: () => {} });
  await clock.advance(90 * MINUTE);
  expect(sessions.find(id, "ann")?.id).toBe(id);
});

test("a session belongs to one identity; an anonymous one, to the first identity that uses it", () => {
  const { sessions } = opened();
  const { id } = sessions.open(anonymous);
  expect(sessions.find(id, "")?.id).toBe(id);
  expect(sessions.find(id, "ann")?.id).toBe(id);
  expect(sessions.find(id, "bob")).toBeUndefined();
  expect(sessions.find(id, "")).toBeUndefined();
  expect(sessions.find("other", "ann")).toBeUndefined();
});

test("the number is limited: evicts the least recently used, those with a stream last", () => {
  const { sessions } = opened({ total: 3, perClient: 3 });
  const [first, second, third] = [sessions.open(a), sessions.open(a), sessions.open(a)];
  let ended = 0;
  second.channels.push({ send: () => {}, end: () => ended++ });
  sessions.find(first.id, "a");
  const fourth = sessions.open(a);
  expect([first, second, third, fourth].map(({ id }) => sessions.find(id, "a") !== undefined)).toEqual([
    true,
    true,
    false,
    true,
  ]);
  sessions.close(second.id);
  expect(ended).toBe(1);
});

test("idle sessions are closed to make room", async () => {
  const { clock, sessions } = opened();
  sessions.open(a);
  sessions.open(a);
  await clock.advance(31 * MINUTE);
  sessions.open(a);
  expect(sessions.count()).toBe(1);
});

test("a client that opens too many loses its own; other clients keep theirs", () => {
  const { sessions } = opened({ total: 4, perClient: 2 });
  const others = [sessions.open(ann), sessions.open(anonymous)];
  const mine = Array.from({ length: 10 }, () => sessions.open(a));
  expect(others.map(({ id, owner }) => sessions.find(id, owner)?.id)).toEqual(others.map(({ id }) => id));
  expect(mine.filter(({ id }) => sessions.find(id, "a") !== undefined)).toEqual(mine.slice(-2));
  expect(sessions.count()).toBe(4);
});

test("subscriptions can take 4 MiB per client, and are freed with their sessions", async () => {
  const { clock, sessions } = opened();
  const uri = (index: number): string => `${index}`.padEnd(MAX_SUBSCRIBED_URI_LENGTH, "x");
  const fill = (): number => {
    let watched = 0;
    for (let count = 0; count < 50; count++) {
      const session = sessions.open(a);
      for (let index = 0; index < MAX_SUBSCRIPTIONS; index++) if (sessions.subscribe(session, uri(index))) watched++;
      expect(sessions.subscribe(session, uri(0))).toBe(session.subscriptions.has(uri(0)));
    }
    return watched;
  };
  const most = fill();
  expect(most).toBeGreaterThan(1_900);
  expect(most).toBeLessThan(2_100);
  expect(fill()).toBe(0);
  expect(sessions.subscribe(sessions.open(ann), uri(0))).toBe(true);
  await clock.advance(31 * MINUTE);
  expect(fill()).toBe(most);
  const session = sessions.open(ann);
  sessions.subscribe(session, "x");
  expect(sessions.subscribe(session, "x".repeat(MAX_SUBSCRIBED_URI_LENGTH + 1))).toBe(false);
  sessions.unsubscribe(session, "x");
  sessions.unsubscribe(session, "x");
  expect(session.subscriptions.size).toBe(0);
});
