import { setTimeout as wait } from "node:timers/promises";
import { describe, expect } from "vitest";
import { testNeeding } from "../needing.ts";
import { type Files, folderWith, start } from "../process/program.ts";
import { recordStores, type StoreCase } from "../suites/record-stores.ts";
import { until } from "../until.ts";
import { ask } from "./crash-load.ts";

/** `EIDER_CRASH_KILLS=25` for a longer look. */
const KILLS = Number(process.env["EIDER_CRASH_KILLS"] ?? 0);
/** Without it, one kill; the program over its own database is killed once more. */
const killsOf = (index: number): number => KILLS || (index === 0 ? 2 : 1);
const LONGEST_MS = 150;

const TABLES = ["t", "u", "v"];
/** By endpoint: the tables that get a row, each once. Other engines than DuckDB refuse keys without a transaction. */
const ENDPOINTS: Readonly<Record<string, readonly string[]>> = { one: ["t"], each: ["u", "v"] };

function project(main: string, { prefix, isEngine = false }: StoreCase): Files {
  const insert = (table: string): string => `INSERT INTO ${prefix}${table} VALUES ({{params.id}})`;
  const files = Object.entries(ENDPOINTS).map(([name, tables]) => ({
    [`${name}.yaml`]: `url-path: /${name}\nmethod: POST\ntemplate-source: ${name}.sql\nconnection: store\noperation: { transaction: ${tables.length === 1 || isEngine} }\nrequest:\n  - { field-name: id, field-in: body, required: true, validators: [{ type: int }] }\n`,
    [`${name}.sql`]: tables.map(insert).join(";\n"),
  }));
  const reads = TABLES.map((table) => ({
    [`${table}.yaml`]: `url-path: /${table}\ntemplate-source: ${table}.sql\nconnection: store\nwith-pagination: false\n`,
    [`${table}.sql`]: `SELECT id FROM ${prefix}${table} ORDER BY id`,
  }));
  return Object.assign({ "eider.yaml": `http-port: 0\n${main}` }, ...files, ...reads) as Files;
}

interface Sent {
  readonly endpoint: string;
  readonly id: number;
}

function send(url: string, { endpoint, id }: Sent): ReturnType<typeof ask> {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": `${endpoint} ${id}` };
  return ask(`${url}/${endpoint}`, { method: "POST", headers, body: JSON.stringify({ id }) });
}

interface Report {
  /** Requests whose response never came, and that were sent again. */
  readonly repeated: number;
  readonly sent: readonly Sent[];
  readonly wrong: readonly string[];
  readonly found: Readonly<Record<string, readonly number[]>>;
}

/** Writes with keys, killed again and again; what was not answered is sent again with the same key. */
async function crashAgain(store: StoreCase, kills: number): Promise<Report> {
  await using data = await folderWith({});
  const init = (prefix: string): string =>
    TABLES.map((table) => `CREATE TABLE IF NOT EXISTS ${prefix}${table} (id INTEGER)`).join("; ");
  await using folder = await folderWith(project(await store.main(data.path, init), store));
  const sent: Sent[] = [];
  const wrong: string[] = [];
  let repeated = 0;
  let unanswered: readonly Sent[] = [];

  const expectDone = (request: Sent, response: Awaited<ReturnType<typeof ask>>): void => {
    const expected = `{"rows_affected":${ENDPOINTS[request.endpoint]?.length}}`;
    if (response?.status === 200 && response.text === expected) return;
    wrong.push(`${request.endpoint} ${request.id}: ${response?.status} ${response?.text}`);
  };
  async function repeat(url: string): Promise<void> {
    repeated += unanswered.length;
    await Promise.all(unanswered.map(async (request) => expectDone(request, await send(url, request))));
  }

  for (let kill = 0; kill < kills; kill++) {
    await using program = await start({}, { cwd: folder.path });
    const url = await program.url();
    await repeat(url);
    const missed: Sent[] = [];
    let answered = 0;
    const writer = async (endpoint: string): Promise<void> => {
      for (;;) {
        const request = { endpoint, id: sent.length };
        sent.push(request);
        const response = await send(url, request);
        if (response === undefined) return void missed.push(request);
        expectDone(request, response);
        answered++;
      }
    };
    const writers = ["one", "each", "one", "each"].map(writer);
    await until("the first responses", () => answered >= 4 || wrong.length > 0 || program.hasExited());
    await wait(Math.random() * LONGEST_MS);
    program.signal("SIGKILL");
    await Promise.all(writers);
    unanswered = missed;
  }
  await using program = await start({}, { cwd: folder.path });
  const url = await program.url();
  await repeat(url);
  // And once more: all of it is done.
  await repeat(url);
  const rows = await Promise.all(
    TABLES.map(async (table) => {
      const text = (await ask(`${url}/${table}`))?.text ?? "[]";
      return [table, (JSON.parse(text) as Sent[]).map(({ id }) => id)] as const;
    }),
  );
  return { repeated, sent, wrong, found: Object.fromEntries(rows) };
}

describe("kill -9 while writes with keys are under way: every row is there, once", () => {
  for (const [index, store] of recordStores().entries()) {
    const kills = killsOf(index);
    testNeeding(store.missing)(
      store.name,
      async () => {
        const { repeated, sent, wrong, found } = await crashAgain(store, kills);
        if (kills > 2) console.log(`${store.name}: ${kills} kills, ${sent.length} writes, ${repeated} sent again`);
        expect(wrong).toEqual([]);
        expect(repeated).toBeGreaterThan(0);
        for (const [endpoint, tables] of Object.entries(ENDPOINTS)) {
          const ids = sent.filter((request) => request.endpoint === endpoint).map(({ id }) => id);
          for (const table of tables) expect(found[table]).toEqual(ids);
        }
      },
      240_000 + kills * 20_000,
    );
  }
});
