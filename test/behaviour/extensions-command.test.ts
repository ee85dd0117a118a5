import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import duckdb from "@duckdb/node-bindings";
import { expect, test } from "vitest";
import { runCommandLine } from "../../src/cli/run.ts";
import { extensionFile, missingExtensions, PLATFORM } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { projectFolder } from "../project-folder.ts";
import { testRuntime } from "../runtime.ts";

const testWithExtensions = testNeeding(missingExtensions("sqlite_scanner", "inet"));
const LAYOUT = `${duckdb.library_version()}/${PLATFORM}`;

async function run(cwd: string, args: readonly string[], isTerminal = false) {
  const runtime = testRuntime({ cwd });
  const terminal = { ...runtime, stdout: { ...runtime.stdout, isTerminal } };
  const code = await runCommandLine(["extensions", ...args], terminal);
  return { code, stdout: runtime.stdoutText(), stderr: runtime.stderrText() };
}

function link(extension: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  symlinkSync(extensionFile(extension), to);
}

const MAIN = `connections:
  crm: { type: sqlite, path: ./crm.db }
  log: { init: "LOAD sqlite; LOAD json; LOAD inet" }
`;

testWithExtensions("each extension with its users and where it comes from", async () => {
  using extensions = projectFolder({});
  const file = join(extensions.path, "sqlite_scanner.duckdb_extension");
  link("sqlite_scanner", file);
  using repository = projectFolder({});
  link("inet", join(repository.path, LAYOUT, "inet.duckdb_extension"));
  using project = projectFolder({
    "eider.yaml": `${MAIN}duckdb: { extension_directory: '${extensions.path}', custom_extension_repository: '${repository.path}' }\n`,
    "t.yaml": "url-path: /t\ntemplate-source: t.sql\nconnection: crm\n",
    "t.sql": "SELECT * FROM read_xlsx('a.xlsx')",
  });
  expect(await run(project.path, [])).toEqual({
    code: 1,
    stderr: "",
    stdout: [
      "extension\tsource\tfile\tneeded by",
      "excel\tmissing\t\tt.sql",
      "inet\twould be downloaded\t\tconnection log",
      "json\tbuilt in\t\tconnection log",
      `sqlite_scanner\textension_directory\t${file}\tconnection crm, connection log`,
      "",
    ].join("\n"),
  });
  const { stdout } = await run(project.path, [], true);
  expect(stdout.split("\n").slice(0, 3)).toEqual([
    `extension       source               ${"file".padEnd(file.length)}  needed by`,
    `excel           missing              ${" ".repeat(file.length)}  t.sql`,
    `inet            would be downloaded  ${" ".repeat(file.length)}  connection log`,
  ]);
  const json = await run(project.path, ["--json"]);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toEqual([
    { extension: "excel", source: "missing", path: null, neededBy: ["t.sql"] },
    { extension: "inet", source: "download", path: null, neededBy: ["connection log"] },
    { extension: "json", source: "built-in", path: null, neededBy: ["connection log"] },
    {
      extension: "sqlite_scanner",
      source: "extension-directory",
      path: file,
      neededBy: ["connection crm", "connection log"],
    },
  ]);
});

testWithExtensions("DuckDB's default folder; exit code 0 if all are there", async () => {
  using home = projectFolder({});
  const folder = join(home.path, ".duckdb/extensions", LAYOUT);
  for (const name of ["sqlite_scanner", "inet"]) link(name, join(folder, `${name}.duckdb_extension`));
  using project = projectFolder({
    "eider.yaml": `${MAIN}duckdb: { home_directory: '${home.path}', custom_extension_repository: /nowhere, lock_configuration: true }\n`,
  });
  expect(await run(project.path, [])).toEqual({
    code: 0,
    stderr: "",
    stdout: [
      "extension\tsource\tfile\tneeded by",
      `inet\tDuckDB's default folder\t${folder}/inet.duckdb_extension\tconnection log`,
      "json\tbuilt in\t\tconnection log",
      `sqlite_scanner\tDuckDB's default folder\t${folder}/sqlite_scanner.duckdb_extension\tconnection crm, connection log`,
      "",
    ].join("\n"),
  });
});

test("a cache in a DuckLake, a remote template.path and properties with URLs need extensions", async () => {
  using project = projectFolder({
    "eider.yaml": `duckdb: { extension_directory: /nowhere/ext, custom_extension_repository: /nowhere }
template: { path: "az://container/api" }
connections: { files: { properties: { orders: "https://host/orders.parquet" } } }
cache: { backend: ducklake, metadata-path: "sqlite:./lake.db", data-path: "s3://bucket/lake" }
`,
  });
  const { code, stdout } = await run(project.path, ["--json"]);
  expect(code).toBe(1);
  const entries: readonly { extension: string; neededBy: readonly string[] }[] = JSON.parse(stdout);
  expect(entries.map(({ extension, neededBy }) => [extension, ...neededBy])).toEqual([
    ["azure", "template.path"],
    ["ducklake", "cache"],
    ["httpfs", "connection files", "cache"],
    ["sqlite_scanner", "cache"],
  ]);
});

test("a project with problems, or settings that DuckDB rejects", async () => {
  using broken = projectFolder({ "eider.yaml": "connection: {}\n" });
  expect(await run(broken.path, [])).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("connection"),
  });
  using invalid = projectFolder({ "eider.yaml": "connections: { db: }\nduckdb: { max_memory: lots }\n" });
  expect(await run(invalid.path, [])).toMatchObject({ code: 3, stdout: "" });
});
