import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { testNeeding } from "../needing.ts";
import { type Files, type Program, start } from "../process/program.ts";
import { missingSmallDisk, type SmallDisk, smallDisk } from "../small-disk.ts";
import { until } from "../until.ts";

const needsDisk = testNeeding(missingSmallDisk);

function endpoint(name: string, sql: string, yaml: string): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [db]\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

const READ = "with-pagination: false\n";
const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";

/** Everything that a service writes lies on the small disk. */
function project(disk: SmallDisk, settings: string): Files {
  return {
    "eider.yaml": `http-port: 0
duckdb: { db_path: ${disk.path}/data.duckdb, temp_directory: ${disk.path}/temporary, threads: 2, ${settings} }
cache: { path: ${disk.path}/cache.duckdb }
audit: { path: ${disk.path}/audit.log }
connections:
  db: { init: "CREATE TABLE IF NOT EXISTS t (id INTEGER, filler VARCHAR)" }
`,
    ...endpoint("ids", "SELECT id FROM t ORDER BY id", READ),
    ...endpoint(
      "add",
      "INSERT INTO t SELECT {{params.id}}, string_agg(md5(random()::VARCHAR), '') FROM range({{params.size}})",
      "method: POST\nrequest:\n  - { field-name: id, field-in: body, validators: [{ type: int }] }\n  - { field-name: size, field-in: body, default: 1, validators: [{ type: int }] }\n",
    ),
    ...endpoint("rows", "SELECT range AS i, md5(range::VARCHAR) AS s FROM range(60000)", READ),
    ...endpoint(
      "sorted",
      "SELECT i FROM (SELECT range AS i, md5(range::VARCHAR) || md5((range + 1)::VARCHAR) AS s FROM range(300000)) ORDER BY s LIMIT 2 OFFSET 290000",
      READ,
    ),
    ...endpoint(
      "cached",
      `SELECT count(*) AS n, sum(i) AS s, count(DISTINCT run) AS runs, any_value(run) AS run FROM ${TABLE}`,
      `${READ}cache: { table: c, template-file: c.sql, schedule: 1s }\n`,
    ),
    "c.sql": "SELECT range AS i, md5(random()::VARCHAR) AS filler, (SELECT gen_random_uuid()) AS run FROM range(5000)",
  };
}

async function ask(url: string, path: string): Promise<{ readonly status: number; readonly body: Buffer }> {
  const answer = await fetch(url + path);
  return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
}

async function add(url: string, id: number, size = 1): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(`${url}/add`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ id, size }),
  });
  return { status: answer.status, text: await answer.text() };
}

async function ids(url: string): Promise<readonly number[]> {
  const body = await until200("the rows", url, "/ids");
  return (JSON.parse(body.toString()) as { id: number }[]).map(({ id }) => id);
}

/** Adds rows until none can be added any more, and returns those that were acknowledged. */
async function addUntilFull(url: string, from: number): Promise<readonly number[]> {
  const told: number[] = [];
  for (let id = from; id < from + 2_000; id++) {
    const { status, text } = await add(url, id, 100);
    if (status === 200) {
      told.push(id);
      continue;
    }
    expect([status, text]).toEqual([500, expect.stringMatching(/No space left on device/)]);
    return told;
  }
  throw new Error("the disk is never full");
}

/** DuckDB may have to be reopened first: a request in that moment may still fail. */
async function until200(what: string, url: string, path: string): Promise<Buffer> {
  return await until(what, async () => {
    const { status, body } = await ask(url, path);
    return status === 200 && body;
  });
}

const noErrors = (program: Program): void => expect(program.stderr()).not.toContain('"level":"error"');

for (const settings of ["checkpoint_threshold: 64KB", "checkpoint_threshold: 1GB"]) {
  needsDisk(`a database file on a full disk (${settings}): no acknowledged row is lost`, async () => {
    await using disk = smallDisk(24);
    const told: number[] = [];
    await using program = await start(project(disk, settings));
    const url = await program.url();
    for (let id = 0; id < 20; id++) {
      expect((await add(url, id)).status).toBe(200);
      told.push(id);
    }
    for (const round of [1, 2]) {
      await disk.fill(300_000);
      told.push(...(await addUntilFull(url, round * 10_000)));
      // Reads do not need the disk.
      expect(await ids(url)).toEqual(told);
      expect((await ask(url, "/health")).status).toBe(200);
      await disk.free();
      const id = round * 10_000 + 9_000;
      expect(await add(url, id)).toMatchObject({ status: 200 });
      told.push(id);
      expect(await ids(url)).toEqual(told);
    }
    expect(told.length).toBeGreaterThan(24);
    await disk.fill();
    const big = await add(url, 99_999, 40_000);
    expect([big.status, big.text]).toEqual([500, expect.stringMatching(/No space left on device/)]);
    noErrors(program);
    program.signal("SIGKILL");
    await program.exited;
    await disk.free();
    await using again = await start({}, { cwd: program.folder });
    expect(await ids(await again.url())).toEqual(told);
  });
}

/** One statement in a template: DuckDB commits it, and checkpoints, in the call that runs it. */
const ALONE: readonly (readonly [what: string, sql: string, expected: string])[] = [
  ["INSERT with values", "INSERT INTO t VALUES ({{params.id}}, '{{{params.filler}}}')", '{"rows_affected":1}'],
  [
    "INSERT with RETURNING",
    "INSERT INTO t VALUES ({{params.id}}, '{{{params.filler}}}') RETURNING 'done' AS state",
    '{"rows_affected":1,"data":[{"state":"done"}]}',
  ],
  [
    "INSERT of a query",
    "INSERT INTO t SELECT {{params.id}}, '{{{params.filler}}}' FROM range(3)",
    '{"rows_affected":3}',
  ],
  ["UPDATE", "UPDATE t SET filler = '{{{params.filler}}}' || {{params.id}} WHERE id < 5", '{"rows_affected":5}'],
];

needsDisk("a checkpoint that fails after a statement: the write is durable, and its client gets success", async () => {
  await using disk = smallDisk(8);
  const yaml =
    "method: POST\noperation: { returns-data: true }\nrequest:\n  - { field-name: id, field-in: body, validators: [{ type: int }] }\n  - { field-name: filler, field-in: body }\n";
  await using program = await start({
    "eider.yaml": `http-port: 0
duckdb: { db_path: ${disk.path}/data.duckdb, checkpoint_threshold: 1KB }
connections:
  db: { init: "CREATE TABLE IF NOT EXISTS t (id INTEGER, filler VARCHAR); INSERT INTO t SELECT range, 'x' FROM range(5) WHERE NOT EXISTS (FROM t)" }
`,
    ...endpoint("count", "SELECT count(*)::INTEGER AS n FROM t", READ),
    ...Object.assign({}, ...ALONE.map(([, sql], index) => endpoint(`write${index}`, sql, yaml))),
  });
  const url = await program.url();
  const count = async (): Promise<number> =>
    (JSON.parse((await until200("the rows", url, "/count")).toString()) as [{ n: number }])[0].n;
  const failures = (): number => program.stderr().split("checkpoint failed after a durable write").length - 1;
  for (const [index, [what, , expected]] of ALONE.entries()) {
    const [before, failed] = [await count(), failures()];
    let acknowledged = 0;
    // Enough room for the log, not for the blocks that a checkpoint writes.
    await disk.fill(200_000);
    for (let id = 10; failures() === failed; id++) {
      const response = await fetch(`${url}/write${index}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ id, filler: "x".repeat(600) }),
      });
      expect([what, response.status, await response.text()]).toEqual([what, 200, expected]);
      acknowledged++;
    }
    await disk.free();
    const { rows_affected: rows } = JSON.parse(expected) as { rows_affected: number };
    expect([what, await count()]).toEqual([what, before + (what === "UPDATE" ? 0 : acknowledged * rows)]);
  }
  expect(program.stderr()).toMatch(
    /"level":"warn","message":"checkpoint failed after a durable write: .*No space left/,
  );
  noErrors(program);
});

interface CachedRow {
  readonly n: number;
  readonly s: number;
  readonly runs: number;
  readonly run: string;
}

/** Which refresh the snapshot comes from; that it is whole is expected. */
async function snapshot(url: string): Promise<string> {
  const [row] = JSON.parse((await until200("the snapshot", url, "/cached")).toString()) as [CachedRow];
  expect(row).toMatchObject({ n: 5_000, s: 12_497_500, runs: 1 });
  return row.run;
}

needsDisk("a cache file on a full disk: the old snapshot is served, and refreshed when there is room", async () => {
  await using disk = smallDisk(16);
  await using program = await start(project(disk, "checkpoint_threshold: 1GB"));
  const url = await program.url();
  const health = async (): Promise<unknown> => JSON.parse((await ask(url, "/health/ready")).body.toString());
  const first = await snapshot(url);
  await until("a scheduled refresh", async () => (await snapshot(url)) !== first);
  await disk.fill();
  await until("a refresh that fails", async () => JSON.stringify(await health()).includes("cache.c"));
  expect(await health()).toEqual({ status: "degraded", caches: ["cache.c"] });
  const kept = await snapshot(url);
  expect(program.stderr()).toMatch(/cache refresh failed.*No space left on device/);
  await disk.free();
  await until("a refresh that works", async () => (await snapshot(url)) !== kept);
  expect(await health()).toEqual({ status: "ok" });
  noErrors(program);
});

needsDisk("a checkpoint of the cache file on a full disk: DuckDB gives up the file, and Eider reopens it", async () => {
  await using disk = smallDisk(16);
  await using program = await start(project(disk, "checkpoint_threshold: 64KB"));
  const url = await program.url();
  expect((await add(url, 1)).status).toBe(200);
  const first = await snapshot(url);
  await disk.fill();
  await until("the end of the file", () => program.stderr().includes("unusable after an error; reopening"));
  await disk.free();
  await until("the reopened file", () => program.stderr().includes("the database works again"));
  await until("a refresh that works", async () => (await snapshot(url)) !== first);
  expect(await ids(url)).toEqual([1]);
  expect((await add(url, 2)).status).toBe(200);
  noErrors(program);
});

needsDisk("the spool and what does not fit into memory, on a full disk: an error that says so", async () => {
  await using disk = smallDisk(48);
  await using program = await start(project(disk, "max_memory: 24MB"));
  const url = await program.url();
  const parquet = async (): Promise<number> => {
    const { status, body } = await ask(url, "/rows?format=parquet");
    if (status === 200) expect(body.subarray(-4).toString()).toBe("PAR1");
    else
      expect(body.toString()).toBe(
        '{"error":"Internal Server Error: IO Error: Could not write file \\"spool\\": No space left on device"}',
      );
    return status;
  };
  expect(await parquet()).toBe(200);
  // DuckDB looks how much room there is when it needs it for the first time, and never again.
  await until("a first sort", async () => (await ask(url, "/sorted")).status === 200);
  await disk.fill();
  expect(await parquet()).toBe(500);
  const sorted = await ask(url, "/sorted");
  expect([sorted.status, sorted.body.toString()]).toEqual([500, expect.stringMatching(/No space left|Out of Memory/)]);
  // What fits into memory is answered as ever.
  const json = await ask(url, "/rows?format=json");
  expect([json.status, json.body.subarray(-60).toString()]).toEqual([
    200,
    expect.stringMatching(/"i":59999,"s":"\w+"}\]$/),
  ]);
  expect((await ask(url, "/rows?format=arrow")).status).toBe(200);
  await disk.free();
  expect(await parquet()).toBe(200);
  // So little memory is not always enough for the first try, with or without a disk.
  await until("the sort", async () => (await ask(url, "/sorted")).status === 200);
  noErrors(program);
  program.signal("SIGTERM");
  expect(await program.exited).toEqual({ code: 0, signal: null });
  expect(await readdir(join(disk.path, "temporary"))).toEqual([]);
});

needsDisk("the audit file on a full disk: calls go on, and no line is lost", async () => {
  await using disk = smallDisk(16);
  await using program = await start(project(disk, "checkpoint_threshold: 1GB"));
  const url = await program.url();
  await ask(url, "/ids?call=0");
  await until("the first line", async () => (await readFile(`${disk.path}/audit.log`, "utf8")).includes("GET /ids"));
  await disk.fill();
  let calls = 1;
  await until("the warning", async () => {
    expect((await ask(url, `/ids?call=${calls++}&filler=${"x".repeat(500)}`)).status).toBe(200);
    return program.stderr().includes("audit.log: no space is left; lines are held in memory meanwhile");
  });
  for (let times = 0; times < 20; times++) expect((await ask(url, `/ids?call=${calls++}`)).status).toBe(200);
  await disk.free();
  await until("the lines", () => program.stderr().includes("audit.log works again"));
  program.signal("SIGTERM");
  await program.exited;
  const lines = (await readFile(`${disk.path}/audit.log`, "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { endpoint: string }).endpoint)).toEqual(
    Array(calls).fill("GET /ids"),
  );
});
