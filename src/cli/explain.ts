import { parametersOf } from "../audit/audit-line.ts";
import { anonymous, identityOf } from "../auth/identity.ts";
import type { CacheStatus } from "../cache/caches.ts";
import { openDeadline } from "../calls/deadline.ts";
import { type ExplainedCall, explainCall } from "../calls/explain-call.ts";
import { redactFailure } from "../calls/redact-failure.ts";
import { failureOf } from "../calls/run-call.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { failureResponse } from "../failure-response.ts";
import { escapeUnprintableInLines } from "../printable.ts";
import { maskOf } from "../secrets.ts";
import type { Service } from "../service/service.ts";
import type { CallUser } from "../serving/call-once.ts";
import { userOf } from "./call.ts";
import { rawParamsFor } from "./call-request.ts";
import { type CallArguments, findCallTarget, readCallArguments } from "./call-target.ts";
import { type Command, type ExitCode, exitCodes, type Runtime, UsageError } from "./command.ts";
import { projectOptionsHelp, readOptionsAndNames } from "./options.ts";
import {
  type CacheReport,
  type ExplanationReport,
  printExplanation,
  pushedDownIn,
  withoutDetails,
} from "./print-explanation.ts";
import { withProject } from "./with-project.ts";

export const explain: Command = {
  name: "explain",
  summary: "show the SQL of a call, its plan, cache and times",
  help: `Usage: eider explain [METHOD] PATH [name=value ...] [options]
       eider explain TOOL [name=value ...] [options]

Shows how a call would run: the rendered SQL with its values beside it, the engine and connections, the plan, the
conditions that files and servers apply, the state of its cache and the time of each phase. Runs nothing, unless --analyze
is set. Endpoints, tools and values are named as for \`eider call\`.

Options:
${projectOptionsHelp}
      --analyze         run the SQL and show rows and times. What a write changes is rolled back
      --user NAME       explain the call of this user
      --roles NAMES     roles of the user, separated by commas
      --json            print one JSON document

Example:
  eider explain /customers/:id id=7 --analyze --config project/eider.yaml`,
  async run(args, runtime) {
    const startedAt = performance.now();
    const { flags, values, positionals, ...options } = readOptionsAndNames(
      args,
      ["json", "analyze"],
      ["user", "roles"],
    );
    const named = readCallArguments("explain", positionals);
    const user = userOf(values);
    return await withProject(options, runtime, {
      purpose: "maintain",
      copiesLocked: true,
      run: (service) => {
        const openMs = performance.now() - startedAt;
        return explainNamed(
          { service, named, user, analyze: flags.has("analyze"), json: flags.has("json"), openMs },
          runtime,
        );
      },
    });
  },
};

interface ExplainInput {
  readonly service: Service;
  readonly named: CallArguments;
  readonly user: CallUser | undefined;
  readonly analyze: boolean;
  readonly json: boolean;
  readonly openMs: number;
}

async function explainNamed(input: ExplainInput, { stdout, stderr, now }: Runtime): Promise<ExitCode> {
  const { service, named, user, analyze, json, openMs } = input;
  if (named.bodySource !== undefined) throw new UsageError("explain: write the values as name=value");
  const target = findCallTarget(service.endpoints, named);
  const { endpoint } = target;
  const raw = rawParamsFor(target, named.values);
  const identity = user === undefined ? anonymous : identityOf({ ...user, type: endpoint.auth?.kind ?? "basic" });
  const deadline = openDeadline(service.limits.queryTimeoutMs);
  try {
    const explained = await explainCall(endpoint, { raw, identity, deadline, analyze }, service);
    const { explanation } = explained;
    if (explanation.kind === "refused") {
      stderr.write(`explain: --analyze would change data that cannot be rolled back: ${explanation.reason}\n`);
      return exitCodes.problem;
    }
    const hasRedacted = [...parametersOf(raw)].some(([name]) => service.isRedacted(name));
    const plans = hasRedacted ? explanation.plans.map(withoutDetails) : explanation.plans;
    const report = maskedWith(
      secretsOf(service),
      reportOf({ endpoint, service, explained, plans, openMs, now: now() }),
    );
    if (json) stdout.write(`${escapeUnprintableInLines(JSON.stringify(report, null, 2))}\n`);
    else printExplanation(report, stdout);
    return exitCodes.done;
  } catch (error) {
    const failure = failureOf(redactFailure(error, raw, service.isRedacted));
    if (failure.kind === "internal") throw error;
    const { status, body } = failureResponse(failure);
    const message = failure.kind === "query-failed" ? failure.message : JSON.stringify(body);
    stderr.write(`${escapeUnprintableInLines(`the call fails with ${status}: ${message}`)}\n`);
    return exitCodes.problem;
  } finally {
    deadline.close();
  }
}

/** Templates may contain the properties of connections, and values from the environment. */
function secretsOf({ project: { main, environment } }: Service): readonly string[] {
  return [...[...main.connections.values()].flatMap(({ secrets }) => secrets), ...environment.values()];
}

function maskedWith(secrets: readonly string[], report: ExplanationReport): ExplanationReport {
  const mask = maskOf(secrets);
  // Only its strings change.
  return JSON.parse(JSON.stringify(report), (_, value: unknown) =>
    typeof value === "string" ? mask(value) : value,
  ) as ExplanationReport;
}

interface ReportInput {
  readonly endpoint: Endpoint;
  readonly service: Service;
  readonly explained: ExplainedCall;
  readonly plans: Extract<ExplainedCall["explanation"], { kind: "plans" }>["plans"];
  readonly openMs: number;
  readonly now: Date;
}

function reportOf({ endpoint, service, explained, plans, openMs, now }: ReportInput): ExplanationReport {
  const { name, file, connections } = endpoint;
  const [first] = connections;
  return {
    endpoint: name,
    file,
    engine: (first && service.project.main.connections.get(first)?.engine) || "duckdb",
    connections,
    caches: explained.caches.map((status) => cacheReport(status, now)),
    statements: explained.statements.map(({ sql, parameters }, index) => {
      const { root, reason, ms } = plans[index] ?? {};
      return {
        sql,
        values: parameters,
        plan: root ?? null,
        reason: reason ?? null,
        ms: ms ?? null,
        pushedDown: root === undefined ? [] : pushedDownIn(root),
      };
    }),
    times: { open: openMs, ...explained.times },
  };
}

function cacheReport({ name, mode, rows, createdAtMs, isStale, nextRefreshAtMs }: CacheStatus, now: Date): CacheReport {
  const isEmpty = createdAtMs === undefined;
  return {
    table: `${name.schema}.${name.table}`,
    mode,
    state: isEmpty ? "empty" : isStale ? "stale" : "filled",
    rows: rows ?? null,
    ageSeconds: isEmpty ? null : Math.max(0, Math.round((now.getTime() - createdAtMs) / 1000)),
    nextRefresh: nextRefreshAtMs === undefined ? null : new Date(nextRefreshAtMs).toISOString(),
  };
}
