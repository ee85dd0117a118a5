import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Files, Program } from "../process/program.ts";

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";
const CACHED_ROWS = 3_000;

/** A file database and a cache file that are checkpointed all the time, so that kills meet checkpoints too. */
export const CRASH_PROJECT: Files = {
  "eider.yaml": `http-port: 0
duckdb: { db_path: ./data.duckdb, checkpoint_threshold: 64KB }
cache: { path: ./cache.duckdb }
limits: { max-queued-requests: 1000 }
connections:
  db: { init: "CREATE TABLE IF NOT EXISTS t (round INTEGER, id INTEGER, filler VARCHAR); CREATE TABLE IF NOT EXISTS sums (client INTEGER, n INTEGER)" }
`,
  "post.yaml": `url-path: /t
method: POST
template-source: post.sql
connection: db
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
connection: db
with-pagination: false
request:
  - { field-name: round, field-in: path, validators: [{ type: int }] }
`,
  "get.sql": "SELECT id FROM t WHERE round = {{params.round}} ORDER BY id",
  "all.yaml": "url-path: /all\ntemplate-source: all.sql\nconnection: db\nwith-pagination: false\n",
  "all.sql":
    "SELECT count(*) AS ids, count(DISTINCT id) AS distinct_ids, (SELECT count(*) FROM sums) AS others, (SELECT count(*) FROM t ANTI JOIN sums ON t.id = sums.n) AS alone FROM t",
  "cached.yaml":
    "url-path: /cached\ntemplate-source: cached.sql\nconnection: db\nwith-pagination: false\ncache: { table: c, template-file: refresh.sql, schedule: 1s, allow-client-refresh: true, retention: { keep-last-snapshots: 2 } }\n",
  "cached.sql": `SELECT count(*)::INTEGER AS n, sum(i)::BIGINT AS s, count(DISTINCT run)::INTEGER AS runs, any_value(run) AS run, max(ts) = max(ss) AS same FROM ${TABLE}`,
  // Every row tells of the refresh, and of two tables that change together.
  "refresh.sql": `SELECT range AS i, (SELECT gen_random_uuid()::VARCHAR) AS run, (SELECT count(*) FROM t) AS ts, (SELECT count(*) FROM sums) AS ss FROM range(${CACHED_ROWS})`,
  ...reloaded(0),
};

function reloaded(state: number): Readonly<Record<string, string>> {
  return {
    "reloaded.yaml": "url-path: /reloaded\ntemplate-source: reloaded.sql\nconnection: db\nwith-pagination: false\n",
    "reloaded.sql": `SELECT ${state} AS state`,
  };
}

/** What clients have been told, and what they would like to know. */
export interface Told {
  /** Writes that were answered with success. */
  readonly acknowledged: Set<number>;
  /** Writes with a key whose answer never came, by their ids. */
  readonly unanswered: Map<number, number>;
  reads: number;
  refreshes: number;
  reloads: number;
}

export interface Load {
  readonly url: string;
  readonly round: number;
  readonly program: Program;
  /** Where the project lies. */
  readonly folder: string;
  readonly nextId: () => number;
  readonly wrong: (what: string) => void;
  /** Whether the program has been killed: whatever breaks from now on says nothing. */
  readonly isOver: () => boolean;
}

const keyOf = (id: number): string => `key-of-${id}`;

/** Undefined when the connection broke: that says nothing about what was asked. */
export async function ask(url: string, init: RequestInit = {}): Promise<{ status: number; text: string } | undefined> {
  try {
    const response = await fetch(url, init);
    return { status: response.status, text: await response.text() };
  } catch {
    return undefined;
  }
}

export interface Row {
  readonly round: number;
  readonly id: number;
  readonly client: number;
}

export function write(url: string, row: Row, withKey: boolean): ReturnType<typeof ask> {
  const key = withKey ? { "Idempotency-Key": keyOf(row.id) } : {};
  return ask(`${url}/t`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...key },
    body: JSON.stringify(row),
  });
}

/** What is wrong with a cached answer: it must be of one refresh, whole, and of one moment of the data. */
export function wrongSnapshot(answer: { readonly status: number; readonly text: string }): string | undefined {
  const expected = `"n":${CACHED_ROWS},"s":${(CACHED_ROWS * (CACHED_ROWS - 1)) / 2},"runs":1,`;
  const isWhole = answer.status === 200 && answer.text.includes(expected) && answer.text.includes('"same":true');
  return isWhole ? undefined : `a snapshot that is not whole: ${answer.status} ${answer.text.slice(0, 300)}`;
}

/** Clients of every kind at work until the program is killed. */
export async function putUnderLoad(load: Load, told: Told): Promise<void> {
  const { url, round, program, folder, nextId, wrong, isOver } = load;

  async function writer(client: number, withKey: boolean): Promise<void> {
    while (!isOver()) {
      const id = nextId();
      const answer = await write(url, { round, id, client }, withKey);
      if (answer === undefined) {
        if (withKey) told.unanswered.set(id, client);
        return;
      }
      if (answer.status === 200 && answer.text === '{"rows_affected":2}') told.acknowledged.add(id);
      else wrong(`a write: ${answer.status} ${answer.text}`);
    }
  }

  async function reader(): Promise<void> {
    const runs = new Set<string>();
    for (let times = 0; !isOver(); times++) {
      // Every third one asks for rows that are newer, so that refreshes are frequent.
      const fresh = times % 3 === 0 ? { headers: { "Cache-Control": "no-cache" } } : {};
      const cached = await ask(`${url}/cached`, fresh);
      if (cached === undefined) return;
      const problem = wrongSnapshot(cached);
      if (problem !== undefined) wrong(problem);
      const run = /"run":"([^"]*)"/.exec(cached.text)?.[1];
      if (run !== undefined) runs.add(run);
      told.refreshes = Math.max(told.refreshes, runs.size);
      const format = ["json", "parquet", "arrow", "csv"][times % 4];
      const rows = await ask(`${url}/t/${round}?format=${format}`);
      if (rows === undefined) return;
      if (rows.status !== 200) wrong(`a read as ${format}: ${rows.status} ${rows.text}`);
      told.reads++;
    }
  }

  async function reloader(): Promise<void> {
    for (let state = 1; !isOver(); state++) {
      // A file is there whole or not at all, as editors and deployments put it.
      for (const [name, text] of Object.entries(reloaded(state))) {
        await writeFile(join(folder, `${name}.new`), text);
        await rename(join(folder, `${name}.new`), join(folder, name));
      }
      program.signal("SIGHUP");
      await wait(60);
      const answer = await ask(`${url}/reloaded`);
      if (answer === undefined) return;
      if (answer.status !== 200) wrong(`after a reload: ${answer.status} ${answer.text}`);
      told.reloads++;
    }
  }

  const writers = Array.from({ length: 8 }, (_, client) => writer(client, client % 2 === 1));
  await Promise.all([...writers, reader(), reader(), reloader()]);
}
