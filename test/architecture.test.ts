import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";

/** Rules about the tree itself. Each is a function of a file's name and text, and is tried on a made-up violation too. */
type Rule = (file: string, text: string) => readonly string[];

const root = join(import.meta.dirname, "..");

function filesBelow(folder: string, ending: RegExp): readonly string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => ending.test(name) && !name.includes("node_modules"))
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .sort();
}

function rootDocuments(): readonly string[] {
  return readdirSync(root).filter((name) => name.endsWith(".md"));
}

const read = (file: string): string => readFileSync(join(root, file), "utf8");
const isTest = (file: string): boolean => file.endsWith(".test.ts");
const allSources = filesBelow("src", /\.ts$/);
const sources = allSources.filter((file) => !isTest(file));
const tests = [...allSources.filter(isTest), ...filesBelow("test", /\.ts$/), ...filesBelow("web", /\.ts$/)];
const pages = filesBelow("web", /\.(js|html|css)$/);
const prose = [...filesBelow("docs", /\.md$/), ...filesBelow("examples", /\.(md|sql|yaml)$/), ...rootDocuments()];
const scripts = [
  ...filesBelow("bench", /\.mjs$/),
  ...filesBelow("bin", /\.cjs$/),
  ...filesBelow("web", /\.(js|css|html)$/),
  ...filesBelow(".ci", /run$/),
];

/** The tree that ARCHITECTURE.md shows: paths in their order, folders with a slash at the end. */
function treeOf(document: string): readonly string[] {
  const lines = document.split("```")[1]?.split("\n").slice(1, -1) ?? [];
  const parents: string[] = [];
  return lines.map((line) => {
    const [, indent = "", name = ""] = /^( *)(\S+)/.exec(line) ?? [];
    const depth = indent.length / 2;
    parents.length = depth;
    parents.push(name);
    return parents.join("");
  });
}

const tree = treeOf(read("ARCHITECTURE.md"));

/** What stands directly in src/, in the order in which it may import. */
const order = tree.filter((path) => /^src\/[^/]+\/?$/.test(path)).map((path) => path.replace(/^src\/|\/$/g, ""));

/** Imports against the order: of types only, because two folders speak of the same thing. */
const typesFromBelow: ReadonlySet<string> = new Set(["src/params/parameter.ts -> src/sql/statement.ts"]);

interface Import {
  readonly from: string;
  readonly typesOnly: boolean;
}

function importsOf(text: string): readonly Import[] {
  const found = [
    ...text.matchAll(/^(?:import|export)\s+(?:(type)\s+)?(?:[\w*\s{},]+?\s+from\s+)?"([^"]+)"/gm),
    ...text.matchAll(/\bimport\((?:()")([^"]+)"\)/g),
  ];
  return found.map(([, type, from = ""]) => ({ from, typesOnly: type === "type" }));
}

const targetOf = (file: string, from: string): string => normalize(join(dirname(file), from)).replaceAll("\\", "/");

const targetsOf = (file: string, text: string): readonly string[] =>
  importsOf(text).flatMap(({ from }) => (from.startsWith(".") ? [targetOf(file, from)] : []));

const homeOf = (file: string): string => file.split("/")[1] ?? "";

const importOrder: Rule = (file, text) =>
  importsOf(text).flatMap(({ from, typesOnly }) => {
    if (!from.startsWith(".")) return [];
    const target = targetOf(file, from);
    const edge = `${file} -> ${target}`;
    if (!target.startsWith("src/")) return [`${edge} leaves src/`];
    // Code that uses an engine knows its interface, not which one it is.
    if (target.startsWith("src/engines/duckdb/") && !file.startsWith("src/engines/")) return [`${edge} knows DuckDB`];
    if (typesOnly && typesFromBelow.has(edge)) return [];
    const [mine, other] = [order.indexOf(homeOf(file)), order.indexOf(homeOf(target))];
    if (mine < 0 || other < 0) return [`${edge}: not in the tree of ARCHITECTURE.md`];
    return other > mine ? [`${edge}: ${homeOf(target)} comes after ${homeOf(file)}`] : [];
  });

/** The cycles of a graph: the files that reach themselves, each group of them as one line. */
function cyclesOf(files: ReadonlyMap<string, string>): readonly string[] {
  const edges = new Map([...files].map(([file, text]) => [file, targetsOf(file, text)]));
  const reach = (file: string, seen: Set<string>): ReadonlySet<string> => {
    for (const target of edges.get(file) ?? []) if (!seen.has(target)) reach(target, seen.add(target));
    return seen;
  };
  const reached = new Map([...edges.keys()].map((file) => [file, reach(file, new Set())]));
  const groups = [...reached].flatMap(([file, targets]) =>
    targets.has(file)
      ? [
          [...targets]
            .filter((target) => reached.get(target)?.has(file))
            .sort()
            .join(" <-> "),
        ]
      : [],
  );
  return [...new Set(groups)];
}

/** Where each outside thing may be imported. What is not listed may not be imported at all. */
const homes: readonly (readonly [dependency: RegExp, home: RegExp])[] = [
  [/^@duckdb\//, /^src\/engines\/duckdb\//],
  [/^yaml$/, /^src\/config\//],
  [/^zod$/, /^src\/(config|params)\//],
  [/^mustache$/, /^src\/sql\//],
  // The whitelist of environment variables takes regular expressions too.
  [/^re2js$/, /^src\/(params\/validators\/|config\/environment\.ts$)/],
  [/^node:(http|https|net|tls)$/, /^src\/(http|mcp|rest)\//],
  [/^node:stream$/, /^src\/(http|rest)\//],
  // `run.ts` reads the version of the package.
  [
    /^node:fs(\/promises)?$/,
    /^src\/(config\/files\.ts$|cli\/run\.ts$|spool\/|cache\/cache-file\.ts$|client\/client-files\.ts$|testing\/snapshots\.ts$|docs\/page-assets\.ts$|audit\/|http\/tls\.ts$|scaffold\/(data-file|write-files)\.ts$)/,
  ],
  [/^node:timers\/promises$/, /^src\/serving\//],
  [/^node:path$/, /^src\/(cache|cli|client|config|scaffold|serving|spool|testing)\//],
  [/^node:buffer$/, /^src\/http\//],
  [/^node:crypto$/, /^src\/((auth|http|rate-limit|rest\/response)\/|calls\/idempotency\.ts$)/],
  [/^jose$/, /^src\/auth\//],
  [/^prom-client$/, /^src\/metrics\//],
  [/^@opentelemetry\//, /^src\/tracing\//],
  [/^@aws-sdk\//, /^src\/auth\/secret-reader\.ts$/],
  [/^(rate-limiter-flexible|ioredis)$/, /^src\/rate-limit\//],
  [/^pg$/, /^src\/engines\/postgres\//],
  [/^node:zlib$/, /^src\/(rest\/response|formats\/arrow)\//],
  [/^(lz4-napi|@bokuweb\/zstd-wasm)$/, /^src\/formats\/arrow\//],
  [/^chokidar$/, /^src\/serving\/watch-files\.ts$/],
  [/^node:os$/, /^src\/main\.ts$/],
  [/^node:v8$/, /^src\/engines\/heap-growth\.ts$/],
  // A long text is matched on a thread of its own.
  [/^node:(worker_threads|module)$/, /^src\/params\/validators\/regex-thread\.ts$/],
  [/^node:util$/, /^src\/((cli|rest\/response|serving)\/|config\/env-file\.ts$)/],
];

const oneHome: Rule = (file, text) =>
  importsOf(text).flatMap(({ from }) => {
    if (from.startsWith(".")) return [];
    const allowed = homes.some(([dependency, home]) => dependency.test(from) && home.test(file));
    return allowed ? [] : [`${file} imports ${from}`];
  });

const COMMENTS_AND_TEXTS = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;

const processOnlyInMain: Rule = (file, text) =>
  file !== "src/main.ts" && /\bprocess\b/.test(text.replace(COMMENTS_AND_TEXTS, '""'))
    ? [`${file} touches process`]
    : [];

const shortFiles: Rule = (file, text) => {
  const lines = text.split("\n").length - 1;
  return lines > 300 ? [`${file} has ${lines} lines`] : [];
};

const tellingNames: Rule = (file, text) => [
  ...(/(^|[/-])(utils?|helpers?|common|misc|managers?)(?=[/.-])/i.test(file)
    ? [`${file} says nothing of its purpose`]
    : []),
  ...[
    ...text.matchAll(
      /\b(?:class|interface|type|function|const) (\w*(?:(?<!ecrets)Manager|Helper|Impl|Utils?)|Base[A-Z]\w*)\b/g,
    ),
  ].map(([, name]) => `${file}: ${name}`),
];

const nothingLeftForLater: Rule = (file, text) =>
  [...text.matchAll(/\b(?:TO[D]O|FIX[M]E|XX[X])\b/g)].map(([word]) => `${file}: ${word}`);

/** Benchmarks import from `dist/`, where the compiler does not check what they import. */
const benchmarkImports: Rule = (file, text) =>
  [...text.matchAll(/\{([^{}]+)\} (?:from |= await import\()"\.\.\/dist\/([\w/-]+)\.js"/g)].flatMap(
    ([, names = "", path = ""]) => {
      const source = existsSync(join(root, `src/${path}.ts`)) ? read(`src/${path}.ts`) : "";
      const exported = new Set([...source.matchAll(/^export (?:async )?\w+\*? (\w+)/gm)].map(([, name]) => name));
      const imported = names.split(",").map((name) => name.trim().split(" as ")[0] ?? "");
      return imported.filter((name) => !exported.has(name)).map((name) => `${file} -> ${path}: ${name}`);
    },
  );

/** Words that readers stumble over, statements that are no longer true, and documents that are not in this repository. */
const retired = new RegExp(
  [
    /\bwh[o]ever\b/,
    /\bm[e]nd(s|ed|ing)?\b/,
    /\b[a]new\b/,
    /\bhe[e]d(s|ed|ing)?\b/,
    /\bt[a]ken up\b/,
    /\bby the cl[o]ck\b/,
    /\bcannot be h[a]d\b/,
    /\bthe r[e]lative\b/,
    /\b(sp[e]c|decisi[o]ns(\.md)?) \d/,
    /\bnot [a]ctive yet\b/,
    /\bnothing [u]ses (it|them) yet\b/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gi",
);

const plainWords: Rule = (file, text) => [...text.matchAll(retired)].map(([words]) => `${file}: ${words}`);

const LEFT_OUT = /\b(?:test|it|describe|suite)(?:\.\w+)*\.(only|skip|skipIf|runIf|todo|fails)\b/;

/** `.only` never; `.skip` and its like with a comment on their line or on the one before. */
const everyTestRuns: Rule = (file, text) => {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    const word = LEFT_OUT.exec(line.replace(/"(?:\\.|[^"\\])*"/g, '""'))?.[1];
    if (word === undefined) return [];
    const hasReason = /\/\/|\*\//.test(line) || /\/\/|\*\/|^\s*\*/.test(lines[index - 1] ?? "");
    return word !== "only" && hasReason ? [] : [`${file}:${index + 1}: .${word}`];
  });
};

/** A clock that was read once: the difference to now, or a variable that holds such a difference. */
const ELAPSED = /\b(?:performance|Date)\.now\(\) - \w/;

/** No test says that something must happen within a time: on a busy machine it would fail. At least some time is fine. */
const noUpperTimeLimit: Rule = (file, text) => {
  const lines = text.split("\n");
  const named = lines.flatMap((line) => (ELAPSED.test(line) ? [...line.matchAll(/(?:const|let) (\w+) =/g)] : []));
  const elapsed = named.map(([, name]) => `\\b${name}\\b`);
  const limited = new RegExp(`(?:${[ELAPSED.source, ...elapsed].join("|")}).*(?:toBeLessThan|toBe\\(true|toEqual)`);
  return lines.flatMap((line, index) => (limited.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : []));
};

const violations = (rule: Rule, files: readonly string[]): readonly string[] =>
  files.flatMap((file) => rule(file, read(file)));

describe("the tree keeps its rules", () => {
  test.each<[string, Rule, readonly string[]]>([
    ["folders import only from those above them", importOrder, sources],
    ["each outside thing has one home", oneHome, sources],
    ["only main.ts touches process", processOnlyInMain, sources],
    ["no file is long", shortFiles, [...sources, ...tests.filter((file) => !isTest(file)), ...scripts]],
    ["names say what something is for", tellingNames, [...sources, ...tests, ...scripts]],
    ["nothing is left for later", nothingLeftForLater, [...sources, ...tests, ...scripts]],
    ["benchmarks import what exists", benchmarkImports, filesBelow("bench", /\.mjs$/)],
    ["every test runs, or says why not", everyTestRuns, tests],
    ["no test depends on how fast the machine is", noUpperTimeLimit, tests.filter(isTest)],
    [
      "the words are plain, and cite nothing from outside",
      plainWords,
      [...sources, ...tests, ...scripts, ...pages, ...prose],
    ],
  ])("%s", (_, rule, files) => {
    expect(files.length).toBeGreaterThan(0);
    expect(violations(rule, files)).toEqual([]);
  });

  test("ARCHITECTURE.md lists every folder of src/, and nothing that is gone", () => {
    const folders = new Set(allSources.map((file) => `${dirname(file)}/`).filter((folder) => folder !== "src/"));
    const listed = tree.filter((path) => path.startsWith("src/") && path.endsWith("/") && path !== "src/");
    expect([...folders].sort()).toEqual([...listed].sort());
    const files = sources.filter((file) => dirname(file) === "src");
    expect(files).toEqual(tree.filter((path) => /^src\/[^/]+\.ts$/.test(path)).sort());
    expect(tree.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test("there is no import cycle, types included", () => {
    expect(cyclesOf(new Map(sources.map((file) => [file, read(file)])))).toEqual([]);
  });

  test("the imports from below that are excused are still there", () => {
    const edges = sources.flatMap((file) => targetsOf(file, read(file)).map((target) => `${file} -> ${target}`));
    expect([...typesFromBelow].filter((edge) => !edges.includes(edge))).toEqual([]);
  });

  test("every home is lived in", () => {
    const imports = sources.flatMap((file) => importsOf(read(file)).map(({ from }) => from));
    expect(homes.filter(([dependency]) => !imports.some((from) => dependency.test(from)))).toEqual([]);
  });
});

describe("the rules find what breaks them", () => {
  const made = (...words: readonly string[]): string => words.join("");
  test.each<[string, Rule, string, string]>([
    ["upwards", importOrder, "src/params/x.ts", 'import { a } from "../rest/rest-app.ts";\n'],
    [
      "upwards in several lines",
      importOrder,
      "src/sql/x.ts",
      'import {\n  a,\n  type B,\n} from "../engines/engine.ts";\n',
    ],
    ["upwards by a type", importOrder, "src/params/x.ts", 'import type { A } from "../sql/template.ts";\n'],
    ["upwards by export", importOrder, "src/params/x.ts", 'export { a } from "../config/problem.ts";\n'],
    ["upwards by import()", importOrder, "src/params/x.ts", 'const a = import("../config/problem.ts");\n'],
    [
      "a value where a type is excused",
      importOrder,
      "src/rest/rest-app.ts",
      'import { a } from "../service/service.ts";\n',
    ],
    ["out of src/", importOrder, "src/cli/x.ts", 'import { a } from "../../test/service.ts";\n'],
    ["an unknown folder", importOrder, "src/nowhere/x.ts", 'import { a } from "../failure.ts";\n'],
    ["an engine by name", importOrder, "src/calls/x.ts", 'import { a } from "../engines/duckdb/read/read.ts";\n'],
    ["DuckDB elsewhere", oneHome, "src/rest/x.ts", 'import duckdb from "@duckdb/node-api";\n'],
    ["a new dependency", oneHome, "src/rest/x.ts", 'import "left-pad";\n'],
    ["files elsewhere", oneHome, "src/service/service.ts", 'import { readFileSync } from "node:fs";\n'],
    ["process", processOnlyInMain, "src/cli/x.ts", 'const port = process.env["PORT"]; // process\n'],
    ["a long file", shortFiles, "src/x.ts", "\n".repeat(301)],
    ["a file for anything", tellingNames, "src/params/utils.ts", ""],
    ["a folder for anything", tellingNames, "src/helpers/x.ts", ""],
    ["a manager", tellingNames, "src/x.ts", made("class Cache", "Manager {}")],
    ["a base", tellingNames, "src/x.ts", made("interface Base", "Engine {}")],
    ["work left over", nothingLeftForLater, "src/x.ts", made("// TO", "DO: more")],
    [
      "a benchmark of what is gone",
      benchmarkImports,
      "bench/x.mjs",
      'import { afterMs, gone } from "../dist/cache/schedule.js";\n',
    ],
    ["a retired word", plainWords, "docs/x.md", made("Wh", "oever calls it gets rows.")],
    ["a document from outside", plainWords, "src/x.ts", made("// Sp", "ec 4.2")],
    ["a statement of the past", plainWords, "docs/x.md", made("not act", "ive yet")],
    ["a test alone", everyTestRuns, "test/x.test.ts", made("test.", "only('x', () => {}); // reason")],
    ["a test left out", everyTestRuns, "test/x.test.ts", made("test.", "skip('x', () => {});")],
    ["a time limit", noUpperTimeLimit, "test/x.test.ts", made("expect(Date.now() ", "- from).toBeLessThan(50);")],
    ["a time", noUpperTimeLimit, "x.test.ts", made("const ms = Date.now() ", "- from;\nexpect(ms).toBeLessThan(50);")],
    ["a table left out", everyTestRuns, "test/x.test.ts", made("describe.skipIf", "(true)('x', () => {});")],
  ])("%s", (_, rule, file, text) => {
    expect(rule(file, text)).toHaveLength(1);
  });

  test.each<[string, Rule, string, string]>([
    ["downwards", importOrder, "src/rest/x.ts", 'import { a } from "../params/page.ts";\n'],
    ["in the same folder", importOrder, "src/rest/x.ts", 'import { a } from "./rest-app.ts";\n'],
    ["the word process", processOnlyInMain, "src/x.ts", '/** Ends the process. */\nconst a = "process"; // process\n'],
    ["a reason", everyTestRuns, "test/x.test.ts", made("// Needs a server.\ntest.skipIf", "(true)('x', () => {});")],
    ["a time that must pass", noUpperTimeLimit, "x.test.ts", "expect(Date.now() - from).toBeGreaterThan(50);\n"],
    ["a name in a text", everyTestRuns, "test/x.test.ts", made('test("test.', 'only", () => {});')],
  ])("%s is fine", (_, rule, file, text) => {
    expect(rule(file, text)).toEqual([]);
  });

  test("cycles are found, those of types and of three files too", () => {
    const files = new Map([
      ["src/a/x.ts", 'import type { Y } from "./y.ts";\nimport { top } from "./top.ts";\n'],
      ["src/a/y.ts", 'import { x } from "./x.ts";\n'],
      ["src/a/top.ts", 'import { one } from "./one.ts";\n'],
      ["src/a/one.ts", 'import {\n  type Two,\n} from "./b/two.ts";\n'],
      ["src/a/b/two.ts", 'export { three } from "./three.ts";\n'],
      ["src/a/b/three.ts", 'const one = import("../one.ts");\n'],
    ]);
    expect(cyclesOf(files)).toEqual([
      "src/a/x.ts <-> src/a/y.ts",
      "src/a/b/three.ts <-> src/a/b/two.ts <-> src/a/one.ts",
    ]);
    expect(cyclesOf(new Map([...files].slice(1, 5)))).toEqual([]);
  });

  test("the tree is read by its indentation", () => {
    expect(treeOf("```\nsrc/\n  a.ts  x\n  b/    y\n    c/  z\n  d/    w\ntest/\n```")).toEqual([
      "src/",
      "src/a.ts",
      "src/b/",
      "src/b/c/",
      "src/d/",
      "test/",
    ]);
  });
});
