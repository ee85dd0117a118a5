import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openFiles } from "./files.ts";
import { onlyTexts, withTexts } from "./text-files.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-test-"));
  await writeFile(join(folder, "disk.yaml"), "disk");
  await writeFile(join(folder, "both.yaml"), "disk");
});
afterAll(() => rm(folder, { recursive: true }));

const at = (name: string): string => join(folder, name);
const texts = (): ReadonlyMap<string, string> =>
  new Map([
    [at("both.yaml"), "memory"],
    [at("sub/memory.yaml"), "memory"],
    [at("sub/memory.sql"), "memory"],
    [`${folder}-other/x.yaml`, "memory"],
  ]);
const isYaml = (name: string): boolean => name.endsWith(".yaml");
const ok = (text: string) => ({ ok: true, text });
const absent = { ok: false, why: { kind: "absent" } };

test("files in memory and on disk: those in memory take precedence", () => {
  const files = withTexts(texts(), openFiles(folder));
  expect(["disk.yaml", "both.yaml", "sub/memory.yaml", "gone.yaml"].map((name) => files.read(at(name)))).toEqual([
    ok("disk"),
    ok("memory"),
    ok("memory"),
    absent,
  ]);
  expect(files.list(folder, isYaml)).toEqual({
    ok: true,
    files: [at("both.yaml"), at("disk.yaml"), at("sub/memory.yaml")],
  });
  expect(files.containment(at("sub/memory.sql"), [folder])).toBe("inside");
  expect(files.containment(at("sub/memory.sql"), [at("other")])).toBe("outside");
  expect(files.containment(at("disk.yaml"), [folder])).toBe("inside");
});

test("a folder that cannot be read stays a problem", () => {
  expect(withTexts(texts(), openFiles(folder)).list(at("gone"), isYaml)).toMatchObject({ ok: false });
});

test("only files in memory", () => {
  const files = onlyTexts(texts(), openFiles(folder));
  expect([files.read(at("disk.yaml")), files.read(at("both.yaml"))]).toEqual([absent, ok("memory")]);
  expect(files.list(folder, isYaml)).toEqual({ ok: true, files: [at("both.yaml"), at("sub/memory.yaml")] });
  expect(files.list(at("sub"), isYaml)).toEqual({ ok: true, files: [at("sub/memory.yaml")] });
  expect(files.containment(at("disk.yaml"), [folder])).toBe("absent");
});
