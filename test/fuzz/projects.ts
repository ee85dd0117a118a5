import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import fc from "fast-check";
import { runCommandLine } from "../../src/cli/run.ts";
import { loadProject } from "../../src/config/load-project.ts";
import { formatProblem, type Problem } from "../../src/config/problem.ts";
import { testRuntime } from "../runtime.ts";
import { mutations } from "./mutate.ts";
import { must, stopwatch, target } from "./target.ts";
import { words } from "./words.ts";

/** Files of a project by name. */
type Files = Readonly<Record<string, string>>;

const root = resolve(import.meta.dirname, "../..");

function readFolder(folder: string): Files {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).filter(
    (name) => /\.(ya?ml|sql)$/.test(name) && statSync(join(root, folder, name)).isFile(),
  );
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(root, folder, name), "utf8")]));
}

/** A project with something of everything. */
const everything: Files = {
  "eider.yaml": `project-name: all
http-port: 0
template: { path: ., environment-whitelist: [NAME, "EIDER_.*"] }
connections:
  memory: { init: "CREATE TABLE t (a VARCHAR, b INTEGER)", properties: { path: ./x.csv } }
  other: { type: csv, path: ./x.csv, lazy: true }
auth: { type: basic, users: [{ username: ann, password: "\${NAME}", roles: [a, b] }] }
rate-limit: { max: 10, interval: 60 }
limits: { max-body-bytes: 1MiB, query-timeout: 30s }
cors: { allow-origins: ["https://a.example"] }
log: { level: info }
`,
  "shared.yaml": `auth-own: { enabled: false }
request:
  - { field-name: v, field-in: query, validators: [{ type: string, regex: "[a-z]*" }] }
  - { field-name: n, field-in: query, default: "1", validators: [{ type: int, min: 0, max: 9 }] }
  - { field-name: e, field-in: query, default: a, validators: [{ type: enum, allowedValues: [a, b] }] }
`,
  "a.yaml": `url-path: /a/:id
{{include:request from shared.yaml}}
template-source: a.sql
connection: [memory]
auth: {{include:auth-own from shared.yaml}}
cache: { schedule: 10m }
with-pagination: true
`.replace("/a/:id", "/a"),
  "a.sql": "SELECT a, b FROM t WHERE a = '{{{params.v}}}' AND b > {{params.n}} ORDER BY {{{params.e}}}\n",
  "w.yaml": `url-path: /w/:id
method: PUT
template-source: w.sql
connection: memory
operation: { type: Write, returns-data: true, transaction: true, validate-before-write: true }
request:
  - field-name: id
    field-in: path
    required: true
    validators: [{ type: int }]
  - &text
    field-name: text
    field-in: body
    validators:
      - type: string
        max: 100
  - <<: *text
    field-name: more
`,
  "w.sql": "INSERT INTO t VALUES ('{{{params.text}}}', {{params.id}}) RETURNING a, b;\n",
  "tool.yaml": `mcp-tool: { name: look, description: Looks things up }
template-source: a.sql
connection: [memory]
{{include:request from shared.yaml}}
`,
};

const edits = [...words.yaml, ...["[", "{a: ", "- "].map((unit) => unit.repeat(300)), "a".repeat(5_000)];

const EXAMPLES = ["examples/quickstart", "examples/row-level-security", "test/fixtures/flapi"] as const;
const projects: readonly Files[] = [everything, everything, ...EXAMPLES.map(readFolder)];

/** A project of which some files were edited. */
function edited(bases: readonly Files[], mayChange: (file: string) => boolean): fc.Arbitrary<Files> {
  return fc.constantFrom(...bases).chain((files) => {
    const candidates = Object.keys(files).filter(mayChange);
    return fc
      .uniqueArray(fc.constantFrom(...candidates), { minLength: 1, maxLength: 2 })
      .chain((changed) =>
        fc.tuple(
          ...changed.map((file) =>
            mutations(fc.constant(files[file] ?? ""), edits).map((text) => [file, text] as const),
          ),
        ),
      )
      .map((changes) => ({ ...files, ...Object.fromEntries(changes) }));
  });
}

async function write(folder: string, files: Files): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

const LIMIT_MS = 10_000;
const env = { NAME: "value: [1", EIDER_X: "1" };

/** Every problem has words and a place that is there. */
function mustBePlaced(problem: Problem, files: Files): void {
  const { file, line, column } = problem.location;
  const name = file.replace(/^.*eider-fuzz-[^/]*\//, "");
  const text = files[name];
  const lines = (text ?? "").split(/\r\n|\r|\n/).length + 1;
  must(
    text !== undefined || /flapi\.yaml|eider\.yaml|\.sql$/.test(name),
    () => `no such file: ${formatProblem(problem)}`,
  );
  must(
    line >= 1 && column >= 1 && (text === undefined || line <= lines),
    () => `no such place: ${formatProblem(problem)}`,
  );
  must(/\S/.test(problem.message), () => `no words: ${formatProblem(problem)}`);
}

/** YAML in, a project or problems out. */
export const yamlFiles = target<Files>({
  name: "yaml-files",
  share: 0.15,
  inputs: edited(projects, () => true),
  open: async () => {
    const folder = await mkdtemp(join(tmpdir(), "eider-fuzz-"));
    return {
      async check(files) {
        await write(folder, files);
        const worked = stopwatch();
        const { project, problems } = await loadProject({ file: undefined, cwd: folder, env, overrides: {} });
        must(worked() < LIMIT_MS, () => `took ${worked()} ms`);
        for (const problem of problems) mustBePlaced(problem, files);
        const hasErrors = problems.some(({ severity }) => severity === "error");
        must((project === undefined) === hasErrors, () => `a project: ${project !== undefined}, errors: ${hasErrors}`);
      },
      [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
    };
  },
});

/** The whole of `eider check`. Only endpoint files change: nobody's edit shall choose where a database is made. */
export const checkedProjects = target<Files>({
  name: "checked-projects",
  share: 0.05,
  inputs: edited([everything], (file) => file !== "eider.yaml"),
  open: async () => {
    const folder = await mkdtemp(join(tmpdir(), "eider-fuzz-"));
    return {
      async check(files) {
        await write(folder, files);
        const runtime = testRuntime({ cwd: folder, env });
        const worked = stopwatch();
        const code = await runCommandLine(["check"], runtime);
        must(worked() < LIMIT_MS, () => `took ${worked()} ms`);
        const lines = runtime.stderrText().split("\n").slice(0, -1);
        const odd = lines.filter((line) => !/^(?:[^:\s]+:\d+:\d+: .)/.test(line));
        must(odd.length === 0, () => `no place: ${JSON.stringify(odd)}`);
        const errors = lines.filter((line) => !/^[^:\s]+:\d+:\d+: warning: /.test(line));
        must(
          code === (errors.length > 0 ? 1 : 0),
          () => `code ${code} with ${errors.length} errors:\n${runtime.stderrText()}`,
        );
      },
      [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
    };
  },
});
