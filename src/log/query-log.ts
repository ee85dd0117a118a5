import { type IsRedacted, redaction } from "../audit/redaction.ts";
import { eachPhase } from "../calls/call-marks.ts";
import type { LoggedQuery } from "../calls/logged-query.ts";
import type { CallEnd, CallObserver, ObservedCall } from "../calls/observed-call.ts";
import type { Project } from "../config/project.ts";
import type { Report } from "../events.ts";
import { type Mask, maskOf } from "../secrets.ts";

/** Logs slow calls (`log.slow-query`), and calls that use connections with `log-queries`. */
export interface QueryLog {
  readonly observer: CallObserver;
  /** Switches to another configuration after a reload. */
  use(project: Project): void;
}

/** Which calls to log, and which values to hide. */
interface Rules {
  readonly slowMs: number;
  /** Connections with `log-queries`. */
  readonly logged: ReadonlySet<string>;
  /** Those of them with `log-parameters`. */
  readonly withParameters: ReadonlySet<string>;
  readonly mask: Mask;
  readonly isRedacted: IsRedacted;
}

export function openQueryLog(first: Project, report: Report): QueryLog {
  // A reload does not change `log.slow-query`.
  const slowMs = first.main.log.slowQueryMs ?? Number.POSITIVE_INFINITY;
  let rules = rulesOf(first, slowMs);

  function reportSlow(call: ObservedCall, { ms, sql }: { readonly ms: number; readonly sql: string }): void {
    const { requestId, endpoint, startedAt, marks } = call;
    const phases: Record<string, number> = {};
    if (marks !== undefined) {
      eachPhase({ startedAt, marks }, performance.now(), (phase, from, to) => {
        phases[phase] = to - from;
      });
    }
    report({ kind: "slow-call", requestId, endpoint, ms, phases, sql, traceparent: traceparentOf(call) });
  }

  function reportQuery(call: ObservedCall, query: LoggedQuery, { status }: CallEnd): void {
    const { requestId, endpoint, rows, marks } = call;
    const { withParameters, mask, isRedacted } = rules;
    const connections = query.connections.filter((name) => rules.logged.has(name));
    const parameters = query.connections.some((name) => withParameters.has(name))
      ? query.parameters(isRedacted)
      : undefined;
    report({
      kind: "query-ran",
      requestId,
      endpoint,
      connections,
      status,
      ms: marks?.spentMs() ?? 0,
      rows,
      sql: mask(query.sql(isRedacted)),
      parameters: parameters?.map(mask),
      traceparent: traceparentOf(call),
    });
  }

  return {
    observer: {
      needsParameters: false,
      onEnd(call, end) {
        const { marks } = call;
        if (marks === undefined) return;
        const { query } = marks;
        const ms = marks.spentMs();
        if (ms >= rules.slowMs) reportSlow(call, { ms, sql: rules.mask(query?.sql(rules.isRedacted) ?? "") });
        if (query === undefined || rules.logged.size === 0) return;
        if (query.connections.some((name) => rules.logged.has(name))) reportQuery(call, query, end);
      },
    },
    use(project) {
      rules = rulesOf(project, slowMs);
    },
  };
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The client's `traceparent` header. Undefined if it is absent or invalid. */
function traceparentOf({ traceparent }: ObservedCall): string | undefined {
  return traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

function rulesOf({ main, environment }: Project, slowMs: number): Rules {
  const connections = [...main.connections.values()];
  const logged = connections.filter(({ logQueries }) => logQueries);
  return {
    slowMs,
    logged: new Set(logged.map(({ name }) => name)),
    withParameters: new Set(logged.filter(({ logParameters }) => logParameters).map(({ name }) => name)),
    // Templates may contain values from the environment.
    mask: maskOf([...connections.flatMap(({ secrets }) => secrets), ...environment.values()]),
    isRedacted: redaction(main.access.redact),
  };
}
