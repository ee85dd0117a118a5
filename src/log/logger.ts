import { oneLine } from "../config/problem.ts";
import type { LogLevel } from "../config/schema/main.ts";
import type { ServiceEvent } from "../events.ts";
import { type Failure, logMessage } from "../failure.ts";
import { openingText } from "../failure-response.ts";
import { escapeUnprintable } from "../printable.ts";

export interface Logger {
  readonly report: (event: ServiceEvent) => void;
}

const LEVELS: Readonly<Record<LogLevel, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
  silent: 100,
};

/** Turns events into lines of JSON, or of text for a terminal. */
export function openLogger(options: {
  readonly level: LogLevel;
  readonly format: "json" | "pretty";
  readonly write: (line: string) => void;
  readonly now: () => Date;
}): Logger {
  const threshold = LEVELS[options.level];
  return {
    report(event) {
      const { level, message, fields } = describe(event);
      if (LEVELS[level] < threshold) return;
      const time = options.now().toISOString();
      if (options.format === "json") {
        options.write(`${escapeUnprintable(JSON.stringify({ time, level, message, ...fields }))}\n`);
        return;
      }
      const details = Object.entries(fields).map(([name, value]) => ` ${name}=${oneLine(value)}`);
      const line = `${time.slice(11, 19)} ${level.padEnd(5)} ${oneLine(message)}${details.join("")}`;
      options.write(`${escapeUnprintable(line)}\n`);
    },
  };
}

interface Line {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Links a line to the trace of the client. */
function traceFields({ traceparent }: { readonly traceparent?: string | undefined }): Line["fields"] {
  return traceparent === undefined ? {} : { traceparent };
}

function line(level: LogLevel, message: string, fields: Line["fields"] = {}): Line {
  return { level, message, fields };
}

function describe(event: ServiceEvent): Line {
  switch (event.kind) {
    case "call-failed": {
      const { failure, requestId, endpoint } = event;
      return line(OPERATOR_FAILURES.has(failure.kind) ? "warn" : "debug", reasonOf(failure), {
        endpoint,
        requestId,
        ...traceFields(event),
      });
    }
    case "call-cut": {
      const { endpoint, requestId, failure } = event;
      return line("warn", `response aborted: ${reasonOf(failure)}`, { endpoint, requestId });
    }
    case "connection-down":
      return line("warn", `connection '${event.connection}' cannot be reached: ${event.message}`);
    case "connection-up":
      return line("info", `connection '${event.connection}' is back`);
    case "connection-opening":
      return line("info", `connection ${openingText(event)}`);
    case "connection-opened":
      return line("info", `connection '${event.connection}' is open after ${Math.round(event.ms / 1_000)} s`);
    case "database-lost":
      return line("debug", "the database is unusable after an error");
    case "dependency-down":
      return line("warn", `${event.dependency}: ${event.message}`);
    case "dependency-up":
      return line("info", `${event.dependency} works again`);
    case "cache-warm-up": {
      const failed = event.failed === 0 ? "" : `, ${event.failed} failed`;
      return line("info", `cache warm-up: ${event.done} of ${event.total}${failed}`);
    }
    case "cache-refresh-failed": {
      const { cache, retryMs, message } = event;
      const retryTime = retryMs === undefined ? "with the next read" : `in ${Math.ceil(retryMs / 1000)} s`;
      return line("warn", `cache refresh failed; retrying ${retryTime}: ${message}`, { cache });
    }
    case "cache-refresh-works":
      return line("info", "cache refresh works again", { cache: event.cache });
    case "cache-refreshed": {
      const { cache, mode, rows, ms } = event;
      return line("debug", `cache refreshed: ${rows} rows in ${Math.round(ms)} ms`, { cache, mode });
    }
    case "cache-invalidated":
      return line("debug", "cache invalidated by a write", { cache: event.cache });
    case "cache-drop-failed":
      return line("warn", `cannot delete old snapshots: ${event.message}`);
    case "heartbeat-failed":
      return line("warn", `heartbeat failed: ${event.message}`, { endpoint: event.endpoint });
    case "heartbeat-works":
      return line("info", "heartbeat works again", { endpoint: event.endpoint });
    case "slow-call": {
      const { endpoint, requestId, sql } = event;
      const phases = Object.entries(event.phases).map(([name, ms]) => `${name} ${tenths(ms)}`);
      const fields = { endpoint, requestId, ...traceFields(event), phases: phases.join(", "), sql };
      return line("warn", `slow query: ${tenths(event.ms)} ms`, fields);
    }
    case "query-ran": {
      const { endpoint, requestId, connections, status, rows, sql, parameters } = event;
      return line("info", `query: ${tenths(event.ms)} ms`, {
        endpoint,
        requestId,
        ...traceFields(event),
        connections: connections.join(", "),
        status: String(status),
        ...(rows === undefined ? {} : { rows: String(rows) }),
        sql,
        ...(parameters === undefined ? {} : { parameters: JSON.stringify(parameters) }),
      });
    }
    case "file-replaced": {
      const { database, problem } = event;
      return problem === undefined
        ? line("info", `database file of '${database}' replaced; serving the new one`)
        : line("warn", `cannot use the new database file of '${database}'; still serving the old one: ${problem}`);
    }
    case "checkpoint-failed":
      return line("warn", `checkpoint failed after a durable write: ${event.message}`);
    case "keys-refused": {
      const { endpoint, reason } = event;
      return line("info", `requests with an Idempotency-Key get 400: ${reason}`, { endpoint });
    }
    case "files-changed":
      return line("debug", "files of the project changed");
    case "reloaded": {
      const { endpoints, ms } = event;
      return line("info", `reloaded: ${endpoints} endpoint${endpoints === 1 ? "" : "s"} in ${Math.round(ms)} ms`);
    }
    case "reload-refused":
      return line("warn", `reload failed (${event.reason}); still serving the previous version`);
    case "restart-needed":
      return line("warn", `${event.key} has changed; restart to apply it`);
    case "comma-in-name": {
      const { variable } = event;
      const fix = "compare with %2C in SQL, or rename it";
      return line("warn", `a name in auth.${variable} contains a comma, which reads as %2C; ${fix}`);
    }
    case "unexpected":
      return line("error", `unexpected error: ${traceOf(event.error)}`, { requestId: event.requestId });
  }
}

/** Failures that the operator or the author of the project has to fix. */
const OPERATOR_FAILURES: ReadonlySet<Failure["kind"]> = new Set([
  "query-failed",
  "several-rows",
  "connection-down",
  "connection-opening",
  "overloaded",
  "query-timeout",
  "internal",
]);

function reasonOf(failure: Failure): string {
  switch (failure.kind) {
    case "query-failed":
      return `query failed: ${logMessage(failure)}`;
    case "constraint-failed":
      return `constraint failed: ${logMessage(failure)}`;
    case "several-rows":
      return "the query returned several rows, but the endpoint has 'returns: one'; make its condition unique, or add LIMIT 1";
    default:
      return failure.kind;
  }
}

const QUOTED = /(["'`])[\s\S]*?(?:\1|$)/g;

/** The stack without quoted text, because messages such as those of JSON.parse quote values of the request. */
function traceOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const message = error.message.replace(QUOTED, "$1***$1");
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return [`${error.name}: ${message}`, ...frames].join("\n");
}

function tenths(ms: number): string {
  return String(Math.round(ms * 10) / 10);
}
