import { setTimeout as wait } from "node:timers/promises";
import { until } from "../until.ts";
import { type Files, folderWith, type Program, start } from "./program.ts";

const CLIENTS = 8;
/** No longer than this is written before a kill. */
const LONGEST_MS = 250;

/** A file database that is checkpointed all the time, so that kills meet checkpoints too. */
const PROJECT: Files = {
  "eider.yaml": `http-port: 0
duckdb: { db_path: ./data.duckdb, checkpoint_threshold: 64KB }
connections:
  memory: { init: "CREATE TABLE IF NOT EXISTS t (round INTEGER, id INTEGER, filler VARCHAR); CREATE TABLE IF NOT EXISTS sums (client INTEGER, n INTEGER)" }
`,
  "post.yaml": `url-path: /t
method: POST
template-source: post.sql
connection: memory
request:
  - { field-name: round, field-in: body, required: true, validators: [{ type: int }] }
  - { field-name: id, field-in: body, required: true, validators: [{ type: int }] }
  - { field-name: client, field-in: body, required: true, validators: [{ type: int }] }
`,
  // Two tables in one transaction: what is acknowledged is in both, what is not is in both or in none.
  "post.sql":
    "INSERT INTO t VALUES ({{params.round}}, {{params.id}}, repeat('x', 200)); INSERT INTO sums VALUES ({{params.client}}, {{params.id}})",
  "get.yaml": `url-path: /t/:round
template-source: get.sql
connection: memory
with-pagination: false
request:
  - { field-name: round, field-in: path, validators: [{ type: int }] }
`,
  "get.sql": "SELECT id FROM t WHERE round = {{params.round}} ORDER BY id",
  "all.yaml": "url-path: /all\ntemplate-source: all.sql\nconnection: memory\nwith-pagination: false\n",
  "all.sql":
    "SELECT count(*) AS ids, count(DISTINCT id) AS distinct_ids, (SELECT count(*) FROM sums) AS others, (SELECT count(*) FROM t ANTI JOIN sums ON t.id = sums.n) AS alone FROM t",
};

/** What clients were told and what was found afterwards. */
export interface CrashReport {
  readonly kills: number;
  /** Writes that were answered with success. */
  readonly acknowledged: number;
  /** Rows that were there although their clients never heard of it. */
  readonly unheard: number;
  /** What must not be, in words. */
  readonly wrong: readonly string[];
}

/**
 * Clients write rows with ids of their own into a file database; at some moment the program is killed with SIGKILL, is
 * started again, and must have every row that it acknowledged, once.
 */
export async function crashAgain(kills: number, random: () => number = Math.random): Promise<CrashReport> {
  await using folder = await folderWith(PROJECT);
  const wrong: string[] = [];
  let [acknowledged, unheard, nextId] = [0, 0, 0];

  async function writeUntilKilled(url: string, round: number, program: Program): Promise<Set<number>> {
    const told = new Set<number>();
    let killed = false;
    const client = async (number: number): Promise<void> => {
      while (!killed) {
        const id = nextId++;
        const answer = await fetch(`${url}/t`, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ round, id, client: number }),
        })
          .then(async (response) => ({ status: response.status, text: await response.text() }))
          .catch(() => undefined);
        // A connection that broke says nothing about the row.
        if (answer === undefined) return;
        if (answer.status === 200 && answer.text === '{"rows_affected":2}') told.add(id);
        else wrong.push(`round ${round}: ${answer.status} ${answer.text}`);
      }
    };
    const all = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
    // Mostly when writes are under way in numbers; the first ones after a start are slow.
    if (random() < 0.8) await until("the first answers", () => told.size >= CLIENTS || wrong.length > 0);
    await wait(random() * LONGEST_MS);
    program.signal("SIGKILL");
    killed = true;
    await all;
    await program.exited;
    return told;
  }

  async function check(url: string, round: number, told: ReadonlySet<number>): Promise<void> {
    const response = await fetch(`${url}/t/${round}`);
    const found = ((await response.json()) as { id: number }[]).map(({ id }) => id);
    const distinct = new Set(found);
    if (distinct.size !== found.length) wrong.push(`round ${round}: ${found.length - distinct.size} rows twice`);
    const lost = [...told].filter((id) => !distinct.has(id));
    if (lost.length > 0) wrong.push(`round ${round}: ${lost.length} of ${told.size} acknowledged rows are lost`);
    acknowledged += told.size;
    unheard += [...distinct].filter((id) => !told.has(id)).length;
  }

  let last: { readonly round: number; readonly told: ReadonlySet<number> } | undefined;
  for (let round = 0; round < kills; round++) {
    // Some are killed while they start: they may be replaying what the one before has left.
    if (random() < 0.2) {
      await using early = await start({}, { cwd: folder.path });
      await Promise.race([wait(random() * 600), early.url().catch(() => {})]);
      early.signal("SIGKILL");
      await early.exited;
    }
    await using program = await start({}, { cwd: folder.path });
    const url = await program.url();
    if (last !== undefined) await check(url, last.round, last.told);
    last = { round, told: await writeUntilKilled(url, round, program) };
  }
  await using program = await start({}, { cwd: folder.path });
  const url = await program.url();
  if (last !== undefined) await check(url, last.round, last.told);
  const [all] = (await (await fetch(`${url}/all`)).json()) as [Record<string, number>];
  const ids = acknowledged + unheard;
  if (all["ids"] !== ids || all["distinct_ids"] !== ids || all["others"] !== ids || all["alone"] !== 0)
    wrong.push(`at the end ${ids} rows were expected in both tables: ${JSON.stringify(all)}`);
  return { kills, acknowledged, unheard, wrong };
}
