import type { LargeScan } from "../../large-scan.ts";

interface PlanNode {
  readonly name: string;
  readonly children: readonly PlanNode[];
  readonly extra_info: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Fewer rows take little time to transfer. */
const MANY_ROWS = 100_000;

const SERVERS: ReadonlyMap<string, string> = new Map([
  ["POSTGRES_SCAN", "Postgres"],
  ["MYSQL_SCAN", "MySQL"],
]);

/** What DuckDB does with the rows, by the operator of a plan. Other operators do not decide how many rows are read. */
const CAUSES: ReadonlyMap<string, string> = new Map([
  ["TOP_N", "sorts and limits them"],
  ["ORDER_BY", "sorts them"],
  ["UNGROUPED_AGGREGATE", "aggregates them"],
  ["HASH_GROUP_BY", "aggregates them"],
  ["PERFECT_HASH_GROUP_BY", "aggregates them"],
  ["HASH_JOIN", "joins them"],
]);

/** The tables of database servers that a query reads as a whole, by its optimized plan in JSON, because DuckDB processes the rows itself. */
export function largeScansIn(plan: string): readonly LargeScan[] {
  // DuckDB's own format of plans.
  const roots = JSON.parse(plan) as readonly PlanNode[];
  return roots.flatMap((root) => scansBelow(root, undefined));
}

function scansBelow(node: PlanNode, cause: string | undefined): readonly LargeScan[] {
  const { name, children, extra_info: info } = node;
  const server = SERVERS.get(name);
  if (server === undefined) return children.flatMap((child) => scansBelow(child, causeOf(node) ?? cause));
  const rows = Number(info["Estimated Cardinality"]);
  if (cause === undefined || rows < MANY_ROWS || isFiltered(info["Filters"])) return [];
  return [{ server, table: String(info["Table"]), rows, cause }];
}

function causeOf({ name, extra_info: info }: PlanNode): string | undefined {
  return name === "FILTER" ? `evaluates ${String(info["Expression"])}` : CAUSES.get(name);
}

/** Whether the server gets a condition. One that is `optional` only speeds up a query of DuckDB. */
function isFiltered(filters: string | readonly string[] = []): boolean {
  return [filters].flat().some((filter) => filter.split(" AND ").some((part) => !part.startsWith("optional: ")));
}
