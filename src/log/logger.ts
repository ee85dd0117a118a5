import { oneLine } from "../config/problem.ts";
import type { LogLevel } from "../config/schema/main.ts";
import type { ServiceEvent } from "../events.ts";
import { logMessage } from "../failure.ts";
import { printable } from "../printable.ts";

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
        options.write(`${printable(JSON.stringify({ time, level, message, ...fields }))}\n`);
        return;
      }
      const details = Object.entries(fields).map(([name, value]) => ` ${name}=${oneLine(value)}`);
      const line = `${time.slice(11, 19)} ${level.padEnd(5)} ${oneLine(message)}${details.join("")}`;
      options.write(`${printable(line)}\n`);
    },
  };
}

interface Line {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Links a line to the trace of the client. */
function traced({ traceparent }: { readonly traceparent?: string | undefined }): Line["fields"] {
  return traceparent === undefined ? {} : { traceparent };
}

function describe(event: ServiceEvent): Line {
  switch (event.kind) {
    case "call-failed": {
      const { failure, requestId, endpoint } = event;
      const isOurs = ["query-failed", "connection-down", "overloaded", "query-timeout", "internal"].includes(
        failure.kind,
      );
      const message = failure.kind === "query-failed" ? `query failed: ${logMessage(failure)}` : failure.kind;
      return { level: isOurs ? "warn" : "debug", message, fields: { endpoint, requestId, ...traced(event) } };
    }
    case "call-cut":
      return {
        level: "warn",
        message: `response aborted: ${event.failure.kind}`,
        fields: { endpoint: event.endpoint, requestId: event.requestId },
      };
    case "connection-down":
      return {
        level: "warn",
        message: `connection '${event.connection}' cannot be reached: ${event.message}`,
        fields: {},
      };
    case "connection-up":
      return { level: "info", message: `connection '${event.connection}' is back`, fields: {} };
    case "database-lost":
      return { level: "debug", message: "the database is unusable after an error", fields: {} };
    case "dependency-down":
      return { level: "warn", message: `${event.dependency}: ${event.message}`, fields: {} };
    case "dependency-up":
      return { level: "info", message: `${event.dependency} works again`, fields: {} };
    case "cache-warm-up": {
      const failed = event.failed === 0 ? "" : `, ${event.failed} failed`;
      return { level: "info", message: `cache warm-up: ${event.done} of ${event.total}${failed}`, fields: {} };
    }
    case "cache-refresh-failed": {
      const again = event.retryMs === undefined ? "with the next read" : `in ${Math.ceil(event.retryMs / 1000)} s`;
      const message = `cache refresh failed; retrying ${again}: ${event.message}`;
      return { level: "warn", message, fields: { cache: event.cache } };
    }
    case "cache-refresh-works":
      return { level: "info", message: "cache refresh works again", fields: { cache: event.cache } };
    case "cache-refreshed": {
      const { cache, mode, rows, ms } = event;
      return {
        level: "debug",
        message: `cache refreshed: ${rows} rows in ${Math.round(ms)} ms`,
        fields: { cache, mode },
      };
    }
    case "cache-invalidated":
      return { level: "debug", message: "cache invalidated by a write", fields: { cache: event.cache } };
    case "cache-drop-failed":
      return { level: "warn", message: `cannot delete old snapshots: ${event.message}`, fields: {} };
    case "heartbeat-failed": {
      const { endpoint } = event;
      return { level: "warn", message: `heartbeat failed: ${event.message}`, fields: { endpoint } };
    }
    case "heartbeat-works":
      return { level: "info", message: "heartbeat works again", fields: { endpoint: event.endpoint } };
    case "slow-call": {
      const { endpoint, requestId, sql } = event;
      const phases = Object.entries(event.phases).map(([name, ms]) => `${name} ${tenths(ms)}`);
      const message = `slow query: ${tenths(event.ms)} ms`;
      return {
        level: "warn",
        message,
        fields: { endpoint, requestId, ...traced(event), phases: phases.join(", "), sql },
      };
    }
    case "query-ran": {
      const { endpoint, requestId, connections, status, rows, sql, parameters } = event;
      const fields = {
        endpoint,
        requestId,
        ...traced(event),
        connections: connections.join(", "),
        status: String(status),
        ...(rows === undefined ? {} : { rows: String(rows) }),
        sql,
        ...(parameters === undefined ? {} : { parameters: JSON.stringify(parameters) }),
      };
      return { level: "info", message: `query: ${tenths(event.ms)} ms`, fields };
    }
    case "file-replaced": {
      const { database, problem } = event;
      return problem === undefined
        ? { level: "info", message: `database file of '${database}' replaced; serving the new one`, fields: {} }
        : {
            level: "warn",
            message: `cannot use the new database file of '${database}'; still serving the old one: ${problem}`,
            fields: {},
          };
    }
    case "checkpoint-failed":
      return {
        level: "warn",
        message: `checkpoint failed after a durable write: ${event.message}`,
        fields: {},
      };
    case "keys-refused": {
      const { endpoint, reason } = event;
      return { level: "info", message: `requests with an Idempotency-Key get 400: ${reason}`, fields: { endpoint } };
    }
    case "files-changed":
      return { level: "debug", message: "files of the project changed", fields: {} };
    case "reloaded": {
      const { endpoints, ms } = event;
      const message = `reloaded: ${endpoints} endpoint${endpoints === 1 ? "" : "s"} in ${Math.round(ms)} ms`;
      return { level: "info", message, fields: {} };
    }
    case "reload-refused":
      return {
        level: "warn",
        message: `reload failed (${event.reason}); still serving the previous version`,
        fields: {},
      };
    case "restart-needed":
      return { level: "warn", message: `${event.key} has changed; restart to apply it`, fields: {} };
    case "comma-in-name": {
      const message = `a name in auth.${event.variable} contains a comma, which reads as %2C; compare with %2C in SQL, or rename it`;
      return { level: "warn", message, fields: {} };
    }
    case "unexpected": {
      return {
        level: "error",
        message: `unexpected error: ${traceOf(event.error)}`,
        fields: { requestId: event.requestId },
      };
    }
  }
}

const QUOTED = /(["'`])[\s\S]*?(?:\1|$)/g;

/** The stack, without quoted text: messages such as those of JSON.parse quote values of the request. */
function traceOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const message = error.message.replace(QUOTED, "$1***$1");
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return [`${error.name}: ${message}`, ...frames].join("\n");
}

function tenths(ms: number): string {
  return String(Math.round(ms * 10) / 10);
}
