import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { expect, test } from "vitest";
import { endpoint, type Files, serviceFrom } from "../service.ts";

const SETTINGS =
  "SELECT current_setting('memory_limit') AS memory, current_setting('temp_directory') AS folder, current_setting('max_temp_directory_size') AS most";
const PLAIN = "with-pagination: false\n";
/** About 100 MB to be sorted. */
const SORTED =
  "SELECT sum(n) AS s, count(*) AS c FROM (SELECT range AS n, md5(range::VARCHAR) AS t FROM range(1000000) ORDER BY t LIMIT 999999 OFFSET 1)";

function project(sql: string, duckdb: string): Files {
  return {
    "eider.yaml": `connections: { memory: {} }\n${duckdb}`,
    ...endpoint(sql, PLAIN),
    "settings.yaml": `url-path: /settings\ntemplate-source: settings.sql\nconnection: memory\n${PLAIN}`,
    "settings.sql": SETTINGS,
  };
}

interface Settings {
  readonly memory: string;
  readonly folder: string;
}

const settingsOf = (answer: unknown): Settings => (answer as readonly [Settings])[0];

/** `14.1 GiB`, as DuckDB shows it. */
function bytesOf(text: string): number {
  const [, amount, unit = ""] = /^([\d.]+) (\w+)$/.exec(text) ?? [];
  return Number(amount) * 1024 ** ["bytes", "KiB", "MiB", "GiB", "TiB"].indexOf(unit);
}

test("by itself: a share of the memory, and a folder of its own that nobody else can look into", async () => {
  let folder = "";
  {
    await using service = await serviceFrom(project("SELECT 1 AS n", ""));
    const settings = settingsOf(await service.json("/settings"));
    folder = settings.folder;
    const total = Number(/MemTotal:\s+(\d+)/.exec(readFileSync("/proc/meminfo", "utf8"))?.[1]) * 1024;
    expect(bytesOf(settings.memory)).toBeLessThanOrEqual(total * 0.601);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  }
  expect(existsSync(folder)).toBe(false);
});

test("what the project says is kept", async () => {
  await using service = await serviceFrom(
    project("SELECT 1 AS n", "duckdb: { max_memory: 512MiB, temp_directory: '' }\n"),
  );
  expect(settingsOf(await service.json("/settings"))).toMatchObject({ memory: "512.0 MiB", folder: "" });
});

test("a query that needs more than the memory is finished on disk, and leaves nothing there", async () => {
  let folder = "";
  {
    await using service = await serviceFrom(project(SORTED, "duckdb: { memory_limit: 80MB, threads: 2 }\n"));
    ({ folder } = settingsOf(await service.json("/settings")));
    const files: number[] = [];
    const looking = setInterval(() => files.push(readdirSync(folder).length), 5);
    const answer = await service.get("/x");
    clearInterval(looking);
    expect([answer.status, await answer.json()]).toEqual([200, [{ s: expect.any(Number), c: 999_999 }]]);
    expect(Math.max(...files)).toBeGreaterThan(0);
  }
  expect(existsSync(folder)).toBe(false);
});

test.each([
  ["memory and disk", "duckdb: { memory_limit: 60MB, threads: 2, max_temp_directory_size: 10MB }\n"],
  ["memory, where nothing may go to disk", "duckdb: { memory_limit: 60MB, threads: 2, temp_directory: '' }\n"],
])("a query beyond %s fails with what the database says, and the service lives", async (_, duckdb) => {
  await using service = await serviceFrom(project(SORTED, duckdb));
  for (let times = 0; times < 2; times++) {
    const answer = await service.get("/x");
    expect(answer.status).toBe(500);
    const { error } = (await answer.json()) as { readonly error: string };
    expect(error).toMatch(/^Internal Server Error: Out of Memory Error: /);
    const { folder } = settingsOf(await service.json("/settings"));
    if (folder !== "") expect(error).not.toContain(folder);
  }
});
