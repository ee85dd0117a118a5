import { expect, test } from "vitest";
import { dataVersions, watchUnknownWrites } from "./data-versions.ts";

test("a table without writes is unchanged, whatever happens to others", () => {
  const versions = dataVersions();
  const moment = versions.now();
  versions.beginWrite(["b"])();
  expect(versions.unchangedSince(moment, ["a"])).toBe(true);
  expect(versions.unchangedSince(moment, ["a", "b"])).toBe(false);
  expect(versions.unchangedSince(versions.now(), ["a", "b"])).toBe(true);
});

test("writes of unknown extent are noticed from their start on, also those that began before", () => {
  const versions = dataVersions();
  const isUnchanged = watchUnknownWrites(versions);
  versions.beginWrite(["a"])();
  expect(isUnchanged()).toBe(true);
  const written = versions.beginWrite("all");
  const fromMeanwhile = watchUnknownWrites(versions);
  expect([isUnchanged(), fromMeanwhile()]).toEqual([false, false]);
  written();
  expect([isUnchanged(), fromMeanwhile(), watchUnknownWrites(versions)()]).toEqual([false, false, true]);
});

test("during a write nothing is known; a moment taken meanwhile expires with the write", () => {
  const versions = dataVersions();
  const before = versions.now();
  const written = versions.beginWrite(["a"]);
  const meanwhile = versions.now();
  expect(versions.unchangedSince(before, ["a"])).toBe(false);
  expect(versions.unchangedSince(meanwhile, ["a"])).toBe(false);
  expect(versions.unchangedSince(meanwhile, ["b"])).toBe(true);
  written();
  expect(versions.unchangedSince(meanwhile, ["a"])).toBe(false);
  expect(versions.unchangedSince(versions.now(), ["a"])).toBe(true);
});

test("a write of unknown extent changes everything, queries without tables too", () => {
  const versions = dataVersions();
  const moment = versions.now();
  const written = versions.beginWrite("all");
  expect(versions.unchangedSince(moment, [])).toBe(false);
  written();
  expect(versions.unchangedSince(moment, ["a"])).toBe(false);
  expect(versions.unchangedSince(moment, [])).toBe(false);
});

test("only a write that may change columns changes the schema", () => {
  const versions = dataVersions();
  const moment = versions.now();
  versions.beginWrite(["a"])();
  expect(versions.schemaUnchangedSince(moment)).toBe(true);
  for (const begin of [() => versions.beginWrite("all"), () => versions.beginWrite(["a"], true)]) {
    const before = versions.now();
    const written = begin();
    expect(versions.schemaUnchangedSince(before)).toBe(false);
    written();
    expect(versions.schemaUnchangedSince(before)).toBe(false);
    expect(versions.schemaUnchangedSince(versions.now())).toBe(true);
  }
});

test("the last change of tables, which is also that of unknown tables", () => {
  const versions = dataVersions();
  const none = versions.lastChange(["a", "b"]);
  versions.beginWrite(["a"])();
  const changed = versions.lastChange(["a", "b"]);
  expect(changed).not.toBe(none);
  expect(versions.lastChange(["b"])).toBe(none);
  versions.beginWrite("all")();
  expect(versions.lastChange(["b"])).toBeGreaterThan(changed);
});
