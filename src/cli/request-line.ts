import type { AnsweredRequest } from "../rest/observe-call.ts";
import type { Output } from "./command.ts";

const GREEN = "\u001b[32m";
const YELLOW = "\u001b[33m";
const RED = "\u001b[31m";
const DIM = "\u001b[2m";
const RESET = "\u001b[0m";

/** Files of the page and its stream of changes are nobody's call. */
const ASIDE = /^\/docs\/(?:assets\/|events$)/;
const LONGEST_URL = 120;
/** What terminals take for commands. */
const UNPRINTABLE = /[^\x20-\x7e\u00a1-\uffff]/g;

/** One line for a request, as `eider dev` shows it: method, path, status, rows, time, cache. Undefined: not worth one. */
export function requestLine(
  { method, url, status, ms, call }: AnsweredRequest,
  { isTerminal }: Output,
): string | undefined {
  if (ASIDE.test(url)) return undefined;
  const path = shortened(url.replace(UNPRINTABLE, "?"));
  const rows = call?.rows === undefined ? "" : `${call.rows} row${call.rows === 1 ? "" : "s"}`;
  const time = `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  const cache = call?.cache ?? "";
  if (!isTerminal) return [method, path, String(status), rows, time, cache].filter((part) => part !== "").join(" ");
  const colour = status >= 500 ? RED : status >= 400 ? YELLOW : GREEN;
  const tail = [rows.padStart(11), time.padStart(9), cache].join(" ").trimEnd();
  return `${method.padEnd(6)} ${path.padEnd(40)} ${colour}${status}${RESET} ${DIM}${tail}${RESET}`;
}

function shortened(url: string): string {
  return url.length <= LONGEST_URL ? url : `${url.slice(0, LONGEST_URL)}...`;
}
