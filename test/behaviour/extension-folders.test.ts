import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import duckdb from "@duckdb/node-bindings";
import { expect, test } from "vitest";
import { extensionFile, missingExtensions, PLATFORM } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { projectFolder } from "../project-folder.ts";
import { serveFolder } from "../serve-folder.ts";
import { problemsFrom } from "../service.ts";
import { startWebFiles } from "../web-files.ts";

const testWithExtensions = testNeeding(missingExtensions("sqlite_scanner", "inet"));
const VERSION = duckdb.library_version();

/** Where a folder may hold an extension. */
const layouts = {
  flat: (name: string) => `${name}.duckdb_extension`,
  DuckDB: (name: string) => `${VERSION}/${PLATFORM}/${name}.duckdb_extension`,
  PyPI: (name: string) => `duckdb_extension_${name}/extensions/${VERSION}/${name}.duckdb_extension`,
};

const SQL = "CREATE TABLE IF NOT EXISTS db.t (n INTEGER); DELETE FROM db.t; INSERT INTO db.t VALUES (42)";
const connections = {
  "the short form": `type: sqlite\n    path: ./data.db\n    init: "${SQL}"`,
  "LOAD in an init": `init: "LOAD sqlite; ATTACH '{folder}/data.db' AS db (TYPE sqlite); ${SQL}"`,
  "INSTALL and LOAD in an init": `init: "INSTALL sqlite; LOAD sqlite; ATTACH '{folder}/data.db' AS db (TYPE sqlite); ${SQL}"`,
  autoloading: `init: "ATTACH '{folder}/data.db' AS db (TYPE sqlite); ${SQL}"`,
};

function link(folder: string, path: string, extension: string): void {
  const target = join(folder, "ext", path);
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(extensionFile(extension), target);
}

function writeProject(folder: string, connection: string): void {
  writeFileSync(
    join(folder, "eider.yaml"),
    `duckdb: { extension_directory: ext, custom_extension_repository: /nowhere }
connections:
  db:
    lazy: false
    ${connection.replaceAll("{folder}", folder)}
`,
  );
  writeFileSync(
    join(folder, "t.yaml"),
    "url-path: /t\ntemplate-source: t.sql\nconnection: db\nwith-pagination: false\n",
  );
  writeFileSync(join(folder, "t.sql"), "SELECT n, host('127.0.0.1'::INET) AS host FROM db.t");
}

for (const [layout, pathOf] of Object.entries(layouts)) {
  for (const [use, connection] of Object.entries(connections)) {
    testWithExtensions(`the layout ${layout} serves ${use}, and the folder stays as it is`, async () => {
      using project = projectFolder({});
      for (const name of ["sqlite_scanner", "inet"]) link(project.path, pathOf(name), name);
      writeProject(project.path, connection);
      const before = readdirSync(join(project.path, "ext"), { recursive: true });
      {
        await using served = await serveFolder(project.path);
        // The template needs another extension, which DuckDB loads by itself.
        expect(await (await fetch(`${served.url}/t`)).json()).toEqual([{ n: 42, host: "127.0.0.1" }]);
      }
      expect(readdirSync(join(project.path, "ext"), { recursive: true })).toEqual(before);
    });
  }
}

testWithExtensions("extensions in several layouts are all found", async () => {
  using project = projectFolder({});
  link(project.path, layouts.DuckDB("sqlite_scanner"), "sqlite_scanner");
  link(project.path, layouts.PyPI("inet"), "inet");
  writeProject(project.path, connections["the short form"]);
  await using served = await serveFolder(project.path);
  expect(await (await fetch(`${served.url}/t`)).json()).toEqual([{ n: 42, host: "127.0.0.1" }]);
});

testNeeding(missingExtensions("httpfs"))("remote templates are read with an extension in any layout", async () => {
  await using web = await startWebFiles({ "/t.sql": "SELECT 7 AS n" });
  using project = projectFolder({
    "eider.yaml":
      "duckdb: { extension_directory: ./ext, custom_extension_repository: /nowhere }\nconnections: { db: }\n",
    "t.yaml": `url-path: /t\ntemplate-source: ${web.url}/t.sql\nconnection: db\nwith-pagination: false\n`,
  });
  link(project.path, layouts.flat("httpfs"), "httpfs");
  await using served = await serveFolder(project.path);
  expect(await (await fetch(`${served.url}/t`)).json()).toEqual([{ n: 7 }]);
});

test("a missing extension is reported in one line, with the folder of the project", async () => {
  const problems = await problemsFrom({
    "eider.yaml": `duckdb: { extension_directory: ext, custom_extension_repository: /nowhere }
connections:
  crm: { type: postgres, host: localhost }
  files: { init: LOAD nosuch }
`,
    // The folder has the wrong layout, so that Eider links its files into another.
    "ext/other.duckdb_extension": "",
  });
  const folder = /in (\S+ext) /.exec(problems[0] ?? "")?.[1];
  const after =
    "its endpoints return 503 until it is back, and their templates were parsed but not checked against the database";
  const found = (name: string): string =>
    `the extension '${name}' is not in ${folder} (duckdb.extension_directory) and was not downloaded; put it there; ${after}`;
  expect(problems.toSorted()).toEqual([
    `eider.yaml:3:3: warning: connections.crm: connection 'crm' cannot be reached: ${found("postgres_scanner")}`,
    `eider.yaml:4:3: warning: connections.files: connection 'files' cannot be reached: ${found("nosuch")}`,
  ]);
});

test("without a folder for temporary files, the setting is reported", async () => {
  const problems = await problemsFrom({
    "eider.yaml": "duckdb: { extension_directory: ext, temp_directory: /dev/null/x }\nconnections: { db: }\n",
    "ext/other.duckdb_extension": "",
  });
  expect(problems.toSorted()).toEqual([
    expect.stringMatching(
      /^eider\.yaml:1:11: duckdb\.extension_directory: the spool .* cannot be used: it is not a folder$/,
    ),
  ]);
});
