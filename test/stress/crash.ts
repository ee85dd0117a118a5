import { readdir } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { folderWith, type Program, start } from "../process/program.ts";
import { until } from "../until.ts";
import { ask, CRASH_PROJECT, putUnderLoad, type Told, write, wrongSnapshot } from "./crash-load.ts";

/** No longer than this is worked before a kill. */
const LONGEST_MS = 250;

/** What clients were told and what was found afterwards. */
export interface CrashReport {
  readonly kills: number;
  /** Writes that were answered with success. */
  readonly acknowledged: number;
  /** Rows that were there although their clients never heard of it. */
  readonly unheard: number;
  /** Writes with a key whose answer never came, and that were sent again. */
  readonly repeated: number;
  readonly reads: number;
  readonly refreshes: number;
  readonly reloads: number;
  /** What must not be, in words. */
  readonly wrong: readonly string[];
}

/**
 * Clients write rows with ids of their own into a file database, read, refresh a cache in a file and reload the project; at some
 * moment the program is killed with SIGKILL, is started again, and must have every row that it acknowledged, once.
 */
export async function crashAgain(kills: number, random: () => number = Math.random): Promise<CrashReport> {
  await using folder = await folderWith(CRASH_PROJECT);
  // Its temporary files have a folder of their own, so that it can be told what is left there.
  await using temporary = await folderWith({});
  const wrong: string[] = [];
  const sums = { acknowledged: 0, unheard: 0, repeated: 0, reads: 0, refreshes: 0, reloads: 0 };
  let nextId = 0;

  const run = (): Promise<Program> => start({}, { cwd: folder.path, env: { TMPDIR: temporary.path } });

  async function workUntilKilled(url: string, round: number, program: Program): Promise<Told> {
    const told: Told = { acknowledged: new Set(), unanswered: new Map(), reads: 0, refreshes: 0, reloads: 0 };
    let killed = false;
    const working = putUnderLoad(
      {
        url,
        round,
        program,
        folder: folder.path,
        nextId: () => nextId++,
        wrong: (what) => wrong.push(`round ${round}: ${what}`),
        isOver: () => killed,
      },
      told,
    );
    // Mostly when all kinds of work are under way; the first ones after a start are slow.
    if (round % 5 !== 4) {
      const isWarm = (): boolean =>
        told.acknowledged.size >= 8 && told.reads >= 2 && told.refreshes >= 1 && told.reloads >= 1;
      await until("the first answers", () => isWarm() || wrong.length > 0 || program.hasExited());
    }
    await wait(random() * LONGEST_MS);
    if (program.hasExited()) wrong.push(`round ${round}: it ended by itself:\n${program.stderr()}`);
    program.signal("SIGKILL");
    killed = true;
    await working;
    await program.exited;
    if (program.stderr().includes('"level":"error"')) wrong.push(`round ${round}: ${program.stderr()}`);
    return told;
  }

  async function check(url: string, round: number, told: Told): Promise<void> {
    const repeats = [...told.unanswered].map(async ([id, client]) => {
      // Done already or not: it is done once, and the client hears of it.
      const answer = await write(url, { round, id, client }, true);
      if (answer?.text === '{"rows_affected":2}') told.acknowledged.add(id);
      else wrong.push(`round ${round}: a write that was sent again: ${answer?.status} ${answer?.text}`);
    });
    await Promise.all(repeats);
    const found = (JSON.parse((await ask(`${url}/t/${round}`))?.text ?? "[]") as { id: number }[]).map(({ id }) => id);
    const distinct = new Set(found);
    if (distinct.size !== found.length) wrong.push(`round ${round}: ${found.length - distinct.size} rows twice`);
    const lost = [...told.acknowledged].filter((id) => !distinct.has(id));
    if (lost.length > 0)
      wrong.push(`round ${round}: ${lost.length} of ${told.acknowledged.size} acknowledged rows are lost`);
    const problem = wrongSnapshot((await ask(`${url}/cached`)) ?? { status: 0, text: "no answer" });
    if (problem !== undefined) wrong.push(`after round ${round}: ${problem}`);
    sums.acknowledged += told.acknowledged.size;
    sums.unheard += [...distinct].filter((id) => !told.acknowledged.has(id)).length;
    sums.repeated += told.unanswered.size;
    sums.reads += told.reads;
    sums.refreshes += told.refreshes;
    sums.reloads += told.reloads;
  }

  /** What is not of the process that runs was left by one that was killed. */
  async function checkTemporary(when: string, pid: number | undefined): Promise<void> {
    const left = (await readdir(temporary.path)).filter((name) => pid === undefined || !name.includes(`-${pid}-`));
    if (left.length > 0) wrong.push(`${when} there are temporary files: ${left.join(", ")}`);
  }

  let last: { readonly round: number; readonly told: Told } | undefined;
  for (let round = 0; round < kills; round++) {
    // Some are killed while they start: they may be replaying what the one before has left.
    if (random() < 0.2) {
      await using early = await run();
      await Promise.race([wait(random() * 600), early.url().catch(() => {})]);
      early.signal("SIGKILL");
      await early.exited;
    }
    await using program = await run();
    const url = await program.url();
    await checkTemporary(`round ${round}: after the start`, program.pid);
    if (last !== undefined) await check(url, last.round, last.told);
    last = { round, told: await workUntilKilled(url, round, program) };
  }
  await using program = await run();
  const url = await program.url();
  if (last !== undefined) await check(url, last.round, last.told);
  const [all] = JSON.parse((await ask(`${url}/all`))?.text ?? "[{}]") as [Record<string, number>];
  const ids = sums.acknowledged + sums.unheard;
  if (all["ids"] !== ids || all["distinct_ids"] !== ids || all["others"] !== ids || all["alone"] !== 0)
    wrong.push(`at the end ${ids} rows were expected in both tables: ${JSON.stringify(all)}`);
  program.signal("SIGTERM");
  const { code } = await program.exited;
  if (code !== 0) wrong.push(`it stopped with ${code}: ${program.stderr()}`);
  await checkTemporary("after a stop in order", undefined);
  return { kills, ...sums, wrong };
}
