import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { folderWith, type Program, runHere, start, startHere } from "./program.ts";

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";
/** Rows come from a file that the test changes; `run` differs with each refresh. */
const files = (cache: string, extensions: string, data = "data"): Record<string, string> => ({
  "eider.yaml": `connections: { db: {} }\nduckdb: { extension_directory: '${extensions}' }\n${cache}`,
  "totals.yaml":
    "url-path: /totals\ntemplate-source: totals.sql\nconnection: [db]\nwith-pagination: false\ncache: { table: totals, template-file: refresh.sql, schedule: 1s }\n",
  "totals.sql": `SELECT * FROM ${TABLE}`,
  "refresh.sql": `SELECT gen_random_uuid()::VARCHAR AS run, count(*)::INTEGER AS n FROM read_csv('${data}/*.csv')`,
  "data/a.csv": "x\n1\n2\n",
  "add.yaml":
    "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: [db]\ncache: { table: totals, refresh-on-write: true }\n",
  "add.sql": "SELECT 1",
  "record.yaml": "url-path: /record\ntemplate-source: record.sql\nconnection: [db]\nwith-pagination: false\n",
  "record.sql": "SELECT status, count(*)::INTEGER AS n FROM cache.audit.refreshes GROUP BY ALL ORDER BY status",
});
const read = async (url: string): Promise<{ run: string; n: number }> => {
  const answer = await fetch(`${url}/totals`);
  const [row] = (await answer.json()) as { run: string; n: number }[];
  if (answer.status !== 200 || row === undefined) throw new Error(`${answer.status}`);
  return row;
};

describe("a DuckLake catalog in a file", () => {
  const missing = missingExtensions("ducklake");
  testNeeding(missing)("fills, refreshes by schedule, and outlives the process", async () => {
    const lake = "cache: { backend: ducklake, metadata-path: ./lake.ducklake, data-path: ./lake }\n";
    await using program = await start(files(lake, extensionDirectory("ducklake")), {
      args: ["serve", "--port", "0"],
    });
    const url = await program.url();
    expect(await read(url)).toMatchObject({ n: 2 });
    await writeFile(join(program.folder, "data/b.csv"), "x\n3\n");
    await expect.poll(async () => (await read(url)).n, { interval: 200 }).toBe(3);
    program.signal("SIGKILL");
    await program.exited;
    const listed = await runHere({}, { args: ["cache", "list", "--json"], cwd: program.folder });
    expect([listed.stderr, JSON.parse(listed.stdout)]).toMatchObject(["", [{ table: "cache.totals", rows: 1 }]]);
  });

  testNeeding(missing)("in the words of flAPI", async () => {
    const lake = "ducklake: { enabled: true, alias: cache, metadata-path: ./lake.ducklake, data-path: ./lake }\n";
    await using data = await folderWith({ "a.csv": "x\n1\n2\n" });
    await using program = await startHere(files(lake, extensionDirectory("ducklake"), data.path), {
      args: ["serve", "--port", "0"],
    });
    expect(await read(await program.url())).toMatchObject({ n: 2 });
    expect(program.stderr()).not.toContain("ducklake");
  });
});

describe("without the extension", () => {
  testNeeding(undefined)(
    "flAPI's block is served from memory, with a warning; a backend that is asked for stops the start",
    async () => {
      await using nowhere = await folderWith({});
      await using data = await folderWith({ "a.csv": "x\n1\n2\n" });
      const blocks = {
        flapi: "ducklake: { metadata-path: ./lake.ducklake, data-path: ./lake }\n",
        own: "cache: { backend: ducklake, metadata-path: ./l }\n",
      };
      const custom = "\n  autoinstall_known_extensions: 'false'\n  custom_extension_repository: '/nowhere'\n";
      const offline = (block: string) => {
        const all = files(block, nowhere.path, data.path);
        return {
          ...all,
          "eider.yaml": `connections: { db: {} }\nduckdb:\n  extension_directory: '${nowhere.path}'${custom}${block}`,
        };
      };
      await using program = await startHere(offline(blocks.flapi), { args: ["serve", "--port", "0"] });
      expect(await read(await program.url())).toMatchObject({ n: 2 });
      expect(program.stderr()).toMatch(
        /^eider\.yaml:\d+:1: warning: ducklake: DuckLake cannot be used .*; caches are kept in memory instead/m,
      );
      const refused = await runHere(offline(blocks.own), { args: ["serve", "--port", "0"] });
      expect([refused.code, refused.stderr]).toEqual([
        3,
        expect.stringMatching(/the DuckLake catalog cannot be opened/),
      ]);
    },
  );
});

describe("a DuckLake catalog in Postgres, shared by two processes", () => {
  const missing = missingExtensions("ducklake", "postgres_scanner") ?? missingPostgres;
  const postgres = sharedPostgres();
  testNeeding(missing)("one refreshes, both read; the other takes over when it is killed", async () => {
    const database = await (await postgres()).createDatabase();
    await using lake = await folderWith({});
    const block = `cache: { backend: ducklake, metadata-path: ${JSON.stringify(`postgres:${database}`)}, data-path: '${lake.path}' }\n`;
    const all = files(block, extensionDirectory("ducklake", "postgres_scanner"));
    await using first = await start(all, { args: ["serve", "--port", "0"] });
    const urls = [await first.url()];
    const programs: Program[] = [first];
    expect(await read(urls[0] ?? "")).toMatchObject({ n: 2 });
    await using second = await start(all, { args: ["serve", "--port", "0"], cwd: first.folder });
    programs.push(second);
    urls.push(await second.url());
    // What one has made the other finds.
    await expect.poll(async () => (await read(urls[1] ?? "")).n).toBe(2);
    await writeFile(join(first.folder, "data/b.csv"), "x\n3\n");
    for (const url of urls) await expect.poll(async () => (await read(url)).n, { interval: 200 }).toBe(3);
    first.signal("SIGKILL");
    await first.exited;
    await writeFile(join(first.folder, "data/c.csv"), "x\n4\n5\n");
    await expect.poll(async () => (await read(urls[1] ?? "")).n, { interval: 500 }).toBe(5);
    const record = (await (await fetch(`${urls[1]}/record`)).json()) as { status: string; n: number }[];
    expect(record.map(({ status }) => status)).toEqual(["ok"]);
  });
});
