import { expect, test } from "vitest";
import { withDefaults } from "./default-settings.ts";

const GIB = 1024 ** 3;
const room = { memoryBytes: 10 * GIB, spillFolder: "/tmp/ours" };

test.each([
  [{}, { memory_limit: "6144MiB", temp_directory: "/tmp/ours" }],
  [{ threads: "4" }, { threads: "4", memory_limit: "6144MiB", temp_directory: "/tmp/ours" }],
  [{ max_memory: "1GB" }, { max_memory: "1GB", temp_directory: "/tmp/ours" }],
  [{ Memory_Limit: "1GB" }, { Memory_Limit: "1GB", temp_directory: "/tmp/ours" }],
  // The folder that the project names is the one in which ours lies.
  [{ TEMP_directory: "/data" }, { memory_limit: "6144MiB", temp_directory: "/tmp/ours" }],
  [{ temp_directory: "" }, { temp_directory: "", memory_limit: "6144MiB" }],
])("%j becomes %j", (own, expected) => {
  const { streaming_buffer_size: ahead, ...settings } = Object.fromEntries(
    withDefaults(new Map(Object.entries(own)), room),
  );
  expect([settings, ahead]).toEqual([expected, "256KiB"]);
});

test("what is not known is left to DuckDB, and a little memory is always there", () => {
  const own = new Map([["Streaming_buffer_size", "1MiB"]]);
  expect([...withDefaults(own, {})]).toEqual([...own]);
  expect(withDefaults(new Map(), { memoryBytes: 1 }).get("memory_limit")).toBe("64MiB");
});
