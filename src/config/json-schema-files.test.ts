import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { blocksOf } from "../../test/markdown.ts";
import { endpointJsonSchema, mainJsonSchema, testFileJsonSchema } from "./json-schema.ts";
import { kindKeys } from "./schema/endpoint.ts";
import { isTestFile } from "./test-file-name.ts";

/** The schemas as an editor applies them: to the text of each file, without what it includes. */
const root = join(import.meta.dirname, "../..");
const ajv = new Ajv({ strict: false });
const main = ajv.compile(mainJsonSchema());
const endpoint = ajv.compile(endpointJsonSchema());
const testFile = ajv.compile(testFileJsonSchema());

type Verdict = "valid" | "invalid" | "no endpoint" | "no YAML";

function verdictOn(text: string, isMain: boolean): Verdict {
  let data: unknown;
  try {
    data = parse(readable(text), { logLevel: "silent", merge: true });
  } catch {
    return "no YAML";
  }
  if (isMain) return main(data) ? "valid" : "invalid";
  if (endpoint(data)) return "valid";
  const keys = typeof data === "object" && data !== null ? Object.keys(data) : [];
  return keys.some((key) => kindKeys.some((kind) => kind === key)) ? "invalid" : "no endpoint";
}

/** What no editor reads as YAML: an include on a line of its own, and a value with braces that is not quoted. */
function readable(text: string): string {
  return text.replaceAll(/^\{\{include.*\}\}$/gm, "").replaceAll(/(?<=: )\{\{.*\}\}$/gm, "'$&'");
}

const isMainFile = (file: string): boolean => /^(eider|flapi)\.yaml$/.test(basename(file));
const yamlFilesBelow = (folder: string): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => join(folder, name))
    .sort();
const read = (file: string): string => readFileSync(join(root, file), "utf8");

const good = [...yamlFilesBelow("examples"), ...yamlFilesBelow("test/fixtures")];

test.each(good)("%s is valid", (file) => {
  expect(["valid", "no endpoint"]).toContain(verdictOn(read(file), isMainFile(file)));
});

test.each(good.filter(isTestFile))("%s is valid as a file of tests", (file) => {
  expect([testFile(parse(read(file))), testFile.errors]).toEqual([true, null]);
});

test("most of them are endpoints", () => {
  expect(good.filter((file) => verdictOn(read(file), isMainFile(file)) === "valid").length).toBeGreaterThan(5);
});

const pages = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];
const shown = pages.flatMap((page) =>
  blocksOf(read(page))
    .filter(({ language }) => language === "yaml")
    .map(({ text }, index) => [`${page} ${index + 1}`, text] as const),
);

test.each(shown)("the YAML of %s is valid", (_, text) => {
  const isMain = /^(project-name|template|connections|duckdb|limits):/.test(text);
  const file = text.startsWith("request:") ? `url-path: /x\n${text}` : text;
  expect(["valid", "no endpoint"]).toContain(verdictOn(file, isMain));
});

/** Problems that the schema of the loader finds, by their words. Others are about more than one key, other files or the database. */
const OF_THE_SCHEMA =
  /: (?:unknown (?:key|value|type|option)|expected (?!an origin|an address|redis|more than zero|a mapping of keys)|missing; expected|there is no such key|the type ')/;

interface Complaint {
  readonly file: string;
  readonly line: string;
}

const folders = readdirSync(join(root, "test/problems")).map((name) => join("test/problems", name));
const complaints = folders.flatMap((folder) =>
  read(join(folder, "expected.txt"))
    .split("\n")
    .flatMap((line): Complaint[] => {
      const [, file] = /^([^:\s]+\.ya?ml):\d+:\d+: (?!warning)/.exec(line) ?? [];
      return file === undefined ? [] : [{ file: join(folder, file), line }];
    }),
);
const problems = [
  ...new Map(complaints.filter(({ line }) => OF_THE_SCHEMA.test(line)).map((each) => [each.file, each])).values(),
];

test("there are many", () => expect(problems.length).toBeGreaterThan(20));

test.each(problems)("$file is not valid: $line", ({ file }) => {
  expect(verdictOn(read(file), isMainFile(file))).not.toBe("valid");
});

test("files without a problem are valid", () => {
  const isFile = (file: string): boolean => statSync(join(root, file), { throwIfNoEntry: false })?.isFile() === true;
  const files = folders
    .flatMap(yamlFilesBelow)
    .filter((file) => isFile(file) && !complaints.some((each) => each.file === file));
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => verdictOn(read(file), isMainFile(file)) === "invalid")).toEqual([]);
});
