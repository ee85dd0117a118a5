import type { PlanNode, StatementPlan } from "../engines/explanation.ts";
import { escapeUnprintable, escapeUnprintableInLines } from "../printable.ts";
import { ageOf } from "./age.ts";
import type { Output } from "./command.ts";

/** An explained call, as `eider explain --json` prints it. */
export interface ExplanationReport {
  readonly endpoint: string;
  readonly file: string;
  readonly engine: string;
  readonly connections: readonly string[];
  readonly caches: readonly CacheReport[];
  readonly statements: readonly StatementReport[];
  /** Milliseconds by phase. */
  readonly times: Readonly<Record<string, number>>;
}

export interface CacheReport {
  readonly table: string;
  readonly mode: string;
  readonly state: "empty" | "filled" | "stale";
  readonly rows: number | null;
  readonly ageSeconds: number | null;
  readonly nextRefresh: string | null;
}

export interface StatementReport {
  readonly sql: string;
  /** The values of the placeholders, in order. */
  readonly values: readonly string[];
  readonly plan: PlanNode | null;
  /** Why there is no plan. */
  readonly reason: string | null;
  readonly ms: number | null;
  /** The conditions that files and servers apply. */
  readonly pushedDown: readonly { readonly scan: string; readonly filters: readonly string[] }[];
}

/** Prints the report for people. */
export function printExplanation(report: ExplanationReport, output: Output): void {
  const { endpoint, file, engine, connections, caches, statements, times } = report;
  const lines = [
    `${endpoint} (${file})`,
    `engine: ${engine}; connections: ${connections.join(", ") || "none"}`,
    ...caches.map((cache) => `cache: ${cacheText(cache)}`),
    ...statements.flatMap((statement, index) => [
      "",
      ...statementLines(statement, statements.length > 1 ? ` ${index + 1}` : ""),
    ]),
    "",
    `times: ${Object.entries(times)
      .map(([phase, ms]) => `${phase} ${msText(ms)}`)
      .join(", ")}`,
  ];
  output.write(`${lines.map(escapeUnprintableInLines).join("\n")}\n`);
}

function cacheText({ table, mode, state, rows, ageSeconds, nextRefresh }: CacheReport): string {
  const parts = [`${table} (${mode})`, state];
  if (rows !== null) parts.push(`${rows} rows`);
  if (ageSeconds !== null) parts.push(`${ageOf(ageSeconds)} old`);
  if (nextRefresh !== null) parts.push(`next refresh ${nextRefresh}`);
  return parts.join(", ");
}

function statementLines(
  { sql, values, plan, reason, ms, pushedDown }: StatementReport,
  number: string,
): readonly string[] {
  return [
    `statement${number}:`,
    ...indent(sql.split("\n")),
    ...(values.length === 0
      ? []
      : ["values:", ...indent(values.map((value, index) => `$${index + 1} = ${escapeUnprintable(value)}`))]),
    `plan${ms === null ? "" : ` (${msText(ms)})`}:`,
    ...indent(plan === null ? [`none: ${reason}`] : treeLines(plan)),
    ...(pushedDown.length === 0
      ? []
      : ["pushed down:", ...indent(pushedDown.map(({ scan, filters }) => `${scan}: ${filters.join(" AND ")}`))]),
  ];
}

function indent(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`);
}

function treeLines(node: PlanNode): readonly string[] {
  const below = node.children.flatMap((child, index) => {
    const isLast = index === node.children.length - 1;
    const [first = "", ...others] = treeLines(child);
    return [`${isLast ? "└─ " : "├─ "}${first}`, ...others.map((line) => `${isLast ? "   " : "│  "}${line}`)];
  });
  return [nodeText(node), ...below];
}

const LONGEST_DETAIL = 100;

function nodeText({ operator, detail, filters, rows, estimatedRows, ms }: PlanNode): string {
  const counts = [
    ...(rows === undefined ? [] : [`${rows} rows`]),
    ...(estimatedRows === undefined ? [] : [`~${estimatedRows} estimated`]),
    ...(ms === undefined ? [] : [msText(ms)]),
  ];
  const details = Object.entries(detail).map(([name, value]) => `${name}: ${oneLine(value)}`);
  if (filters.length > 0) details.push(`Filters: ${oneLine(filters.join(" AND "))}`);
  return [operator, ...(counts.length === 0 ? [] : [`(${counts.join(", ")})`]), details.join("; ")].join(" ").trimEnd();
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= LONGEST_DETAIL ? line : `${line.slice(0, LONGEST_DETAIL)}...`;
}

function msText(ms: number): string {
  return `${ms < 10 ? ms.toFixed(2) : Math.round(ms)} ms`;
}

/** The scans of a plan that leave rows to the file or server. */
export function pushedDownIn(node: PlanNode): StatementReport["pushedDown"] {
  const { operator, detail, filters, children } = node;
  const source = detail["Table"] ?? detail["Filename(s)"] ?? detail["Text"];
  const own =
    filters.length === 0 ? [] : [{ scan: source === undefined ? operator : `${operator} ${source}`, filters }];
  return [...own, ...children.flatMap(pushedDownIn)];
}

/** Why a plan is shown without details: they may contain values that must not be shown. */
export function withoutDetails(plan: StatementPlan): StatementPlan {
  return {
    ...plan,
    root: plan.root && bareNode(plan.root),
    reason: plan.reason && "withheld, because it may hold a redacted parameter",
  };
}

function bareNode(node: PlanNode): PlanNode {
  return { ...node, detail: {}, filters: [], children: node.children.map(bareNode) };
}
