import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import { serviceFrom, type TestService } from "../service.ts";
import { until } from "../until.ts";

/** Of the first edition: the second has twice as many. A response with all of them is a stream. */
const EDITION_ROWS = 3_000;

/** A database file whose table says which edition it is, in every row. */
async function makeFile(path: string, edition: number): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run(
    `CREATE TABLE t AS SELECT range AS id, ${edition} AS edition, repeat('x', 50) AS filler FROM range(${edition * EDITION_ROWS})`,
  );
  connection.closeSync();
  instance.closeSync();
}

/** As somebody does who publishes new data: made elsewhere, then put in its place in one step. */
async function publish(path: string, edition: number): Promise<void> {
  await makeFile(`${path}.new`, edition);
  await rename(`${path}.new`, path);
}

const read = (name: string, sql: string, more = "with-pagination: false\n"): Record<string, string> => ({
  [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: live\n${more}`,
  [`${name}.sql`]: sql,
});

/** Endpoints over a table: one that counts, one that pages, one whose answer is long. */
function endpoints(table: string): Record<string, string> {
  return {
    ...read("edition", `SELECT min(edition) AS low, max(edition) AS high, count(*) AS n FROM ${table}`),
    ...read("page", `SELECT edition FROM ${table} ORDER BY id`, ""),
    ...read("all", `SELECT edition, filler FROM ${table}`),
  };
}

interface Edition {
  readonly low: number;
  readonly high: number;
  readonly n: number;
}

async function editionOf(service: TestService): Promise<number> {
  const [found] = (await service.json("/edition")) as readonly Edition[];
  expect(found?.low).toBe(found?.high);
  expect(found?.n).toBe((found?.low ?? 0) * EDITION_ROWS);
  return found?.low ?? 0;
}

/** Every answer is of one edition, and whole. */
async function checkPage(service: TestService): Promise<number> {
  const page = (await service.json("/page?limit=50")) as { data: readonly { edition: number }[]; total_count: number };
  const editions = new Set(page.data.map(({ edition }) => edition));
  expect([page.data.length, editions.size]).toEqual([50, 1]);
  const [edition = 0] = editions;
  expect(page.total_count).toBe(edition * EDITION_ROWS);
  return edition;
}

async function checkAll(service: TestService): Promise<number> {
  const answer = await service.get("/all?format=csv");
  expect(answer.status).toBe(200);
  const lines = (await answer.text()).trimEnd().split("\r\n").slice(1);
  const editions = new Set(lines.map((line) => Number(line.split(",")[0])));
  expect(editions.size).toBe(1);
  const [edition = 0] = editions;
  expect(lines.length).toBe(edition * EDITION_ROWS);
  return edition;
}

/** Between two requests: a client that never pauses only takes the processor from the others. */
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));

const mains: Readonly<Record<string, (file: string) => string>> = {
  "a connection of type duckdb": (file) => `connections:\n  live: { type: duckdb, path: ${file}, read-only: true }\n`,
  "an ATTACH of the project's own": (file) =>
    `connections:\n  live: { init: "ATTACH '${file}' AS live (READ_ONLY)" }\n`,
  "the database itself": (file) => `duckdb: { db_path: ${file}, access_mode: read_only }\nconnections: { live: {} }\n`,
};

describe.each(Object.entries(mains))("a file that is only read is replaced: %s", (what, main) => {
  const table = what === "the database itself" ? "t" : "live.t";

  test("the new one is served, without a restart; every answer is whole, old or new", async () => {
    await using folder = await serviceFolder(main, endpoints(table));
    const { service, file } = folder;
    expect(await editionOf(service)).toBe(1);
    const seen: number[] = [];
    let goesOn = true;
    const client = async (check: (service: TestService) => Promise<number>): Promise<void> => {
      while (goesOn) {
        seen.push(await check(service));
        await pause();
      }
    };
    const clients = [editionOf, checkPage, checkAll, editionOf].map(client);
    for (const edition of [1, 2, 3]) {
      if (edition > 1) await publish(file, edition);
      await until(`edition ${edition}`, () => seen.includes(edition));
    }
    goesOn = false;
    await Promise.all(clients);
    expect(new Set(seen)).toEqual(new Set([1, 2, 3]));
    // Nobody remembers what was: neither totals nor answers.
    expect([await editionOf(service), await checkPage(service), await checkAll(service)]).toEqual([3, 3, 3]);
  });

  test("a file that is gone, or is none, changes nothing; a good one that follows is served", async () => {
    await using folder = await serviceFolder(main, endpoints(table));
    const { service, file } = folder;
    await rm(file);
    expect(await editionOf(service)).toBe(1);
    await writeFile(`${file}.new`, "this is no database".repeat(1000));
    await rename(`${file}.new`, file);
    const from = performance.now();
    while (performance.now() - from < 1_000) {
      expect(await editionOf(service)).toBe(1);
      await pause();
    }
    await publish(file, 5);
    await until("edition 5", async () => (await editionOf(service)) === 5);
  });
});

async function serviceFolder(
  main: (file: string) => string,
  files: Record<string, string>,
): Promise<AsyncDisposable & { readonly service: TestService; readonly file: string }> {
  const folder = await mkdtemp(join(tmpdir(), "eider-test-"));
  const file = join(folder, "live.duckdb");
  await makeFile(file, 1);
  const service = await serviceFrom({ "eider.yaml": main(file), ...files });
  return {
    service,
    file,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
