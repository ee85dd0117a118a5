import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect } from "vitest";
import { extensionDirectory } from "../extensions.ts";
import { blocksOf } from "../markdown.ts";
import { projectFolder } from "../project-folder.ts";
import { serveFolder } from "../serve-folder.ts";

export interface PageExample {
  readonly extensions?: readonly string[];
  /** Creates the data, in the folder `data` of the project. */
  readonly setup?: (data: string) => Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
  /** Further settings of DuckDB. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Runs statements in a DuckDB of its own. */
export async function runSql(statements: readonly string[], extensions: readonly string[] = []): Promise<void> {
  const options = extensions.length === 0 ? {} : { extension_directory: extensionDirectory(...extensions) };
  const instance = await DuckDBInstance.create(":memory:", options);
  const connection = await instance.connect();
  for (const sql of statements) await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

/** Serves the first YAML and the first SQL of a page, and expects the JSON on it. */
export async function runPage(
  name: string,
  { extensions = [], setup, env = {}, settings = {} }: PageExample,
): Promise<void> {
  const blocks = blocksOf(readFileSync(join(import.meta.dirname, `../../docs/sources/${name}.md`), "utf8"));
  const first = (language: string): string => blocks.find((block) => block.language === language)?.text ?? "";
  const directory = extensions.length === 0 ? {} : { extension_directory: extensionDirectory(...extensions) };
  const duckdb = `duckdb: ${JSON.stringify({ ...directory, ...settings })}\n`;
  const connections = [...first("yaml").matchAll(/^ {2}(\w+):$/gm)].map(([, connection]) => connection);
  using project = projectFolder({
    "eider.yaml": `${duckdb}environment-whitelist: SHOP_.*\n${first("yaml")}`,
    "x.yaml": `url-path: /x\ntemplate-source: x.sql\nconnection: ${connections.at(-1)}\nwith-pagination: false\n`,
    "x.sql": first("sql"),
  });
  const data = join(project.path, "data");
  mkdirSync(data);
  await setup?.(data);
  await using served = await serveFolder(project.path, { ...env });
  expect(served.problems).toEqual([]);
  expect(await (await fetch(`${served.url}/x`)).json()).toEqual(JSON.parse(first("json")));
}
