import { expect, test } from "vitest";
import { turnedClock } from "../../test/turned-clock.ts";
import { openSessions } from "./sessions.ts";

function opened(limit?: number) {
  const clock = turnedClock();
  let count = 0;
  const options = { now: clock.now, randomId: () => `s${++count}` };
  return { clock, sessions: openSessions(limit === undefined ? options : { ...options, limit }) };
}

const MINUTE = 60_000;

test("a session lasts as long as it is used, and half an hour more", async () => {
  const { clock, sessions } = opened();
  const { id } = sessions.open("ann");
  await clock.advance(29 * MINUTE);
  expect(sessions.find(id, "ann")?.id).toBe(id);
  await clock.advance(29 * MINUTE);
  expect(sessions.find(id, "ann")?.id).toBe(id);
  await clock.advance(30 * MINUTE);
  expect(sessions.find(id, "ann")).toBeUndefined();
  expect(sessions.count()).toBe(0);
});

test("a session whose stream is open is used", async () => {
  const { clock, sessions } = opened();
  const { id, channels } = sessions.open("ann");
  channels.push({ send: () => {}, end: () => {} });
  await clock.advance(90 * MINUTE);
  expect(sessions.find(id, "ann")?.id).toBe(id);
});

test("a session belongs to one identity; begun by nobody, to the first who shows who it is", () => {
  const { sessions } = opened();
  const { id } = sessions.open("");
  expect(sessions.find(id, "")?.id).toBe(id);
  expect(sessions.find(id, "ann")?.id).toBe(id);
  expect(sessions.find(id, "bob")).toBeUndefined();
  expect(sessions.find(id, "")).toBeUndefined();
  expect(sessions.find("other", "ann")).toBeUndefined();
});

test("there are so many and no more: the one that was used longest ago goes, one with a stream last", () => {
  const { sessions } = opened(3);
  const [first, second, third] = [sessions.open("a"), sessions.open("a"), sessions.open("a")];
  let ended = 0;
  second.channels.push({ send: () => {}, end: () => ended++ });
  sessions.find(first.id, "a");
  const fourth = sessions.open("a");
  expect([first, second, third, fourth].map(({ id }) => sessions.find(id, "a") !== undefined)).toEqual([
    true,
    true,
    false,
    true,
  ]);
  sessions.close(second.id);
  expect(ended).toBe(1);
});

test("idle ones make room for a new one", async () => {
  const { clock, sessions } = opened();
  sessions.open("a");
  sessions.open("a");
  await clock.advance(31 * MINUTE);
  sessions.open("a");
  expect(sessions.count()).toBe(1);
});
