import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { folderWith, runHere, run as runProgram, start } from "./program.ts";

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";
/** Rows come from files in `data`. */
const project = (main = "", cache = "", data = "data"): Record<string, string> => ({
  "eider.yaml": `connections: { db: {} }\n${main}`,
  "totals.yaml": `url-path: /totals\ntemplate-source: totals.sql\nconnection: [db]\nwith-pagination: false\ncache: { table: totals, template-file: refresh.sql${cache} }\n`,
  "totals.sql": `SELECT * FROM ${TABLE}`,
  "refresh.sql": `SELECT gen_random_uuid()::VARCHAR AS run, count(*)::INTEGER AS n FROM read_csv('${data}/*.csv')`,
  "data/a.csv": "x\n1\n2\n",
});
/** Runs a command to its end, in a folder that is there already. */
const run = (cwd: string, args: readonly string[]) => runHere({}, { args, cwd });

const rowsOf = async (url: string): Promise<{ run: string; n: number }[]> =>
  (await (await fetch(`${url}/totals`)).json()) as { run: string; n: number }[];

describe("a cache in a file", () => {
  test("its snapshots are served at once by the next process, and eider cache tells of them", async () => {
    await using data = await folderWith({ "a.csv": "x\n1\n2\n" });
    const files = project(
      "cache: { path: ./cache/c.duckdb }\n",
      ", schedule: 1h, retention: { keep-last-snapshots: 2 }",
      data.path,
    );
    await using program = await start(files, { args: ["serve", "--port", "0"] });
    const first = await rowsOf(await program.url());
    expect(first).toMatchObject([{ n: 2 }]);
    // The file is one process's at a time.
    const busy = await run(program.folder, ["cache", "list"]);
    expect([busy.code, busy.stderr]).toEqual([3, expect.stringMatching(/cache file cannot be opened/)]);
    program.signal("SIGKILL");
    await program.exited;

    const listed = await run(program.folder, ["cache", "list", "--json"]);
    expect([listed.stderr, JSON.parse(listed.stdout)]).toMatchObject([
      "",
      [{ table: "cache.totals", mode: "full", snapshots: 1, rows: 1, ageSeconds: expect.any(Number), lastError: null }],
    ]);
    await using again = await start(files, { args: ["serve", "--port", "0"], cwd: program.folder });
    expect(await rowsOf(await again.url())).toEqual(first);
    again.signal("SIGTERM");
    expect(await again.exited).toMatchObject({ code: 0 });

    const refreshed = await runProgram({}, { args: ["cache", "refresh"], cwd: program.folder });
    expect([refreshed.code, refreshed.stdout]).toEqual([
      0,
      expect.stringMatching(/^1 of 1: cache\.totals, 1 rows in \d+ ms\n$/),
    ]);
    await run(program.folder, ["cache", "refresh", "cache.totals"]);
    const after = JSON.parse((await run(program.folder, ["cache", "list", "--json"])).stdout) as unknown;
    expect(after).toMatchObject([{ snapshots: 2 }]);
    expect((await run(program.folder, ["cache", "gc"])).stdout).toBe("0 snapshots deleted\n");
    const plain = await run(program.folder, ["cache", "list"]);
    expect(plain.stdout.split("\n")[0]).toBe("table\tmode\tsnapshots\trows\tage\tnext refresh\tlast error");
    await rm(join(data.path, "a.csv"));
    const failed = await run(program.folder, ["cache", "refresh", "totals"]);
    expect([failed.code, failed.stderr]).toEqual([3, expect.stringMatching(/^cache\.totals: .*No files found/)]);
    const told = await run(program.folder, ["cache", "list", "--json"]);
    expect(JSON.parse(told.stdout)).toMatchObject([
      { snapshots: 2, lastError: expect.stringMatching(/No files found/) },
    ]);
    expect((await run(program.folder, ["cache", "refresh", "nothing"])).code).toBe(2);
    expect((await run(program.folder, ["cache"])).code).toBe(2);
  });

  test.each([
    ["nonsense", "this is no database at all, only text"],
    ["an empty file", ""],
  ])("a file that is none is moved aside, and told: %s", async (_, text) => {
    const files = { ...project("cache: { path: ./c.duckdb }\n"), "c.duckdb": text };
    await using program = await start(files, { args: ["serve", "--port", "0"] });
    expect(await rowsOf(await program.url())).toMatchObject([{ n: 2 }]);
    if (text !== "") {
      expect(program.stderr()).toMatch(/^eider\.yaml:2:\d+: warning: cache\.path: not a usable cache file/m);
      expect((await readdir(program.folder)).filter((name) => name.includes(".aside-"))).toHaveLength(1);
    }
  });
});

test("by schedule: new rows come by themselves, and nobody waits", async () => {
  await using program = await start(project("", ", schedule: 1s"), { args: ["serve", "--port", "0"] });
  const url = await program.url();
  expect(await rowsOf(url)).toMatchObject([{ n: 2 }]);
  await writeFile(join(program.folder, "data/b.csv"), "x\n3\n");
  await expect.poll(async () => (await rowsOf(url))[0]?.n, { interval: 100 }).toBe(3);
  const answer = await fetch(`${url}/totals`);
  expect(answer.headers.get("x-cache")).toBe("hit");
});

test("warm-up fills caches at start, with its progress in the log", async () => {
  const files = project("cache: { warm-up: true }\nlog: { format: json }\n");
  await using program = await start(files, { args: ["serve", "--port", "0"] });
  const url = await program.url();
  await expect.poll(() => program.stderr()).toMatch(/cache warm-up: 1 of 1/);
  expect((await fetch(`${url}/totals`)).headers.get("x-cache")).toBe("hit");
});
