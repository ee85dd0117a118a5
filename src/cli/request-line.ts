import { escapeUnprintable } from "../printable.ts";
import type { FinishedRequest } from "../rest/observe-request.ts";
import type { Output } from "./command.ts";

const GREEN = "\u001b[32m";
const YELLOW = "\u001b[33m";
const RED = "\u001b[31m";
const DIM = "\u001b[2m";
const RESET = "\u001b[0m";

/** Requests that the page at /docs sends for itself. They are not printed. */
const PAGE_REQUESTS = /^\/docs\/(?:assets\/|events$)/;
const LONGEST_PATH = 120;

/**
 * The line that `eider dev` prints for a request. Undefined for requests that the page at /docs sends for itself. Contains no
 * parameter values: the path is that of the endpoint, or without an endpoint, the requested path without its query.
 */
export function requestLine(
  { method, path: requested, status, ms, call }: FinishedRequest,
  { isTerminal }: Output,
): string | undefined {
  if (PAGE_REQUESTS.test(requested)) return undefined;
  const path = escapeUnprintable(call === undefined ? shorten(requested) : routeOf(call));
  const rows = call?.rows === undefined ? "" : `${call.rows} row${call.rows === 1 ? "" : "s"}`;
  const time = `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  const cache = call?.cache ?? "";
  if (!isTerminal) return [method, path, String(status), rows, time, cache].filter((part) => part !== "").join(" ");
  const colour = status >= 500 ? RED : status >= 400 ? YELLOW : GREEN;
  const tail = [rows.padStart(11), time.padStart(9), cache].join(" ").trimEnd();
  return `${method.padEnd(6)} ${path.padEnd(40)} ${colour}${status}${RESET} ${DIM}${tail}${RESET}`;
}

/** The path of an endpoint, without its method, which may be GET for a HEAD request. */
function routeOf({ endpoint }: NonNullable<FinishedRequest["call"]>): string {
  return endpoint.replace(/^\S+ /, "");
}

function shorten(path: string): string {
  return path.length <= LONGEST_PATH ? path : `${path.slice(0, LONGEST_PATH)}...`;
}
