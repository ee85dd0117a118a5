import type { PlanNode } from "../../explanation.ts";

/** A node of EXPLAIN (FORMAT json), or with ANALYZE, where the names differ. */
interface DuckDbNode {
  readonly name?: string;
  readonly operator_name?: string;
  readonly operator_type?: string;
  readonly operator_cardinality?: number;
  readonly operator_timing?: number;
  readonly extra_info?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly children?: readonly DuckDbNode[];
}

const ESTIMATE = "Estimated Cardinality";
const FILTERS = "Filters";

/** The plan in the JSON of EXPLAIN. Undefined if DuckDB printed none. */
export function planTree(json: string): PlanNode | undefined {
  // DuckDB's own formats: a list of roots; with ANALYZE, one object for the query, whose only child is EXPLAIN_ANALYZE.
  const parsed = JSON.parse(json) as readonly DuckDbNode[] | DuckDbNode;
  const root = Array.isArray(parsed)
    ? (parsed[0] as DuckDbNode | undefined)
    : (parsed as DuckDbNode).children?.[0]?.children?.[0];
  return root && treeOf(root);
}

function treeOf(node: DuckDbNode): PlanNode {
  const { extra_info: info = {}, children = [], operator_cardinality: rows, operator_timing: seconds } = node;
  const estimate = info[ESTIMATE];
  const details = Object.entries(info).filter(
    ([name, value]) => name !== ESTIMATE && name !== FILTERS && value !== undefined && value !== "",
  );
  return {
    operator: (node.operator_name ?? node.name ?? node.operator_type ?? "").trim(),
    detail: Object.fromEntries(details.map(([name, value = ""]) => [name, [value].flat().join(", ")])),
    filters: [info[FILTERS] ?? []]
      .flat()
      .map(withoutOptional)
      .filter((filter) => filter !== ""),
    estimatedRows: estimate === undefined ? undefined : Number(estimate),
    rows,
    ms: seconds === undefined ? undefined : seconds * 1000,
    children: children.map(treeOf),
  };
}

/** An `optional` condition only speeds up the query. The scan may return other rows as well. */
function withoutOptional(filter: string): string {
  if (!filter.includes("optional: ")) return filter;
  const parts = filter.split(" AND ").filter((part) => !part.startsWith("optional: "));
  return parts.join(" AND ");
}
