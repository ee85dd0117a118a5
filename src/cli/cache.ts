import { cacheKey } from "../cache/cache.ts";
import type { CacheStatus, Caches } from "../cache/caches.ts";
import { oneLine } from "../config/problem.ts";
import { RequestFailure } from "../failure.ts";
import { escapeUnprintable, escapeUnprintableInLines } from "../printable.ts";
import type { Service } from "../service/service.ts";
import { ageOf } from "./age.ts";
import { type Command, type ExitCode, exitCodes, type Runtime, UsageError } from "./command.ts";
import { projectOptionsHelp, readOptionsAndNames } from "./options.ts";
import { printTable } from "./print-table.ts";
import { withProject } from "./with-project.ts";

const ACTIONS = ["list", "refresh", "gc"] as const;
type Action = (typeof ACTIONS)[number];

export const cache: Command = {
  name: "cache",
  summary: "list, refresh and clean up the caches of a project",
  help: `Usage: eider cache list [options]
       eider cache refresh [schema.table ...] [options]
       eider cache gc [options]

list shows every cache: mode, snapshots, rows, age, next refresh, last error. refresh rebuilds all caches, or those that
you name. gc deletes snapshots beyond their retention. Only one process can open a cache file: stop the service first, or
read its /health/ready instead.

Options:
${projectOptionsHelp}
      --json            print one JSON document

Example:
  eider cache refresh analytics.sales --config project/eider.yaml`,
  async run(args, runtime) {
    const [actionName, ...rest] = args;
    const action = ACTIONS.find((each) => each === actionName);
    if (action === undefined) throw new UsageError(`cache: expected one of ${ACTIONS.join(", ")}`);
    const { flags, positionals, ...options } = readOptionsAndNames(rest, ["json"]);
    if (action !== "refresh" && positionals.length > 0) throw new UsageError(`cache ${action} takes no names`);
    return await withProject(options, runtime, {
      purpose: "maintain",
      copiesLocked: false,
      run: (service) => runAction(action, { service, names: positionals, json: flags.has("json") }, runtime),
    });
  },
};

interface ActionInput {
  readonly service: Service;
  readonly names: readonly string[];
  readonly json: boolean;
}

async function runAction(action: Action, { service, names, json }: ActionInput, runtime: Runtime): Promise<ExitCode> {
  const { caches } = service;
  switch (action) {
    case "list":
      printEntries(
        await Promise.all(caches.statuses().map((status) => entryOf(status, service, runtime.now()))),
        json,
        runtime,
      );
      return exitCodes.done;
    case "refresh":
      return await refreshAll(caches, names, runtime);
    case "gc":
      runtime.stdout.write(`${await caches.collectGarbage()} snapshots deleted\n`);
      return exitCodes.done;
  }
}

async function refreshAll(caches: Caches, names: readonly string[], runtime: Runtime): Promise<ExitCode> {
  const known = caches.statuses().filter(({ mode }) => mode !== "results");
  const wanted = names.length === 0 ? known : names.map((name) => findCache(name, known));
  let code: ExitCode = exitCodes.done;
  for (const [index, { name }] of wanted.entries()) {
    const label = `${name.schema}.${name.table}`;
    const startedAt = performance.now();
    try {
      const { rows } = await caches.refresh(name, NEVER_ABORTED);
      const ms = Math.round(performance.now() - startedAt);
      const progress = `${index + 1} of ${wanted.length}: ${label}, ${rows} rows in ${ms} ms`;
      runtime.stdout.write(`${escapeUnprintable(progress)}\n`);
    } catch (error) {
      const failure = error instanceof RequestFailure ? error.failure : undefined;
      const reason = failure?.kind === "query-failed" ? failure.message : (failure?.kind ?? String(error));
      runtime.stderr.write(`${escapeUnprintable(`${label}: ${oneLine(reason)}`)}\n`);
      code = exitCodes.unavailable;
    }
  }
  return code;
}

const NEVER_ABORTED = new AbortController().signal;

function findCache(text: string, known: readonly CacheStatus[]): CacheStatus {
  const [table = "", schema = "cache"] = text.split(".").reverse();
  const found = known.find(({ name }) => cacheKey(name) === cacheKey({ schema, table }));
  if (found !== undefined) return found;
  const names = known.map(({ name }) => `${name.schema}.${name.table}`).join(", ");
  throw new UsageError(
    `cache refresh: '${text}' is not a cache with a refresh template; use one of: ${names || "(none)"}`,
  );
}

interface Entry {
  readonly table: string;
  readonly mode: string;
  readonly snapshots: number;
  readonly rows: number | null;
  readonly ageSeconds: number | null;
  readonly nextRefresh: string | null;
  readonly lastError: string | null;
}

async function entryOf(status: CacheStatus, service: Service, now: Date): Promise<Entry> {
  const { name, mode, snapshots, rows, createdAtMs, nextRefreshAtMs, error } = status;
  return {
    table: `${name.schema}.${name.table}`,
    mode,
    snapshots,
    rows: rows ?? null,
    ageSeconds: createdAtMs === undefined ? null : Math.max(0, Math.round((now.getTime() - createdAtMs) / 1000)),
    nextRefresh: nextRefreshAtMs === undefined ? null : new Date(nextRefreshAtMs).toISOString(),
    lastError: error ?? (await recordedError(status, service)) ?? null,
  };
}

/** The recorded error of the last refresh, which an earlier process may have run. */
async function recordedError({ name }: CacheStatus, { engine, cacheCatalog }: Service): Promise<string | undefined> {
  const sql = `SELECT status, message FROM ${cacheCatalog}.audit.refreshes WHERE encode(schema_name) = encode($1) AND encode(table_name) = encode($2) ORDER BY started DESC NULLS LAST LIMIT 1`;
  const values = [name.schema, name.table].map((value) => ({ type: "VARCHAR", value }) as const);
  const change = { connections: [], touches: [], signal: NEVER_ABORTED };
  const [[status, message] = []] = await engine.change(change, (run) => run({ sql, values }));
  return status === "error" ? (message ?? "") : undefined;
}

function printEntries(entries: readonly Entry[], json: boolean, { stdout }: Runtime): void {
  if (json) {
    stdout.write(`${escapeUnprintableInLines(JSON.stringify(entries, null, 2))}\n`);
    return;
  }
  const header = ["table", "mode", "snapshots", "rows", "age", "next refresh", "last error"];
  const lines = entries.map(({ table, mode, snapshots, rows, ageSeconds, nextRefresh, lastError }) => [
    escapeUnprintable(table),
    mode,
    String(snapshots),
    rows === null ? "" : String(rows),
    ageSeconds === null ? "empty" : ageOf(ageSeconds),
    nextRefresh ?? "",
    escapeUnprintable(oneLine(lastError ?? "")),
  ]);
  printTable(header, lines, stdout);
}
