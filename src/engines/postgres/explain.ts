import type { Statement } from "../../sql/statement.ts";
import { tokensOf, topLevelWords } from "../../sql/statement-words.ts";
import type { Explain } from "../engine.ts";
import type { Explanation, PlanNode, StatementPlan } from "../explanation.ts";
import { postgresDialect } from "./dialect.ts";
import type { Session, Step } from "./session.ts";
import { type QueryForms, windowedQuery } from "./window.ts";

export interface ExplainContext {
  readonly session: Session;
  readonly forms: QueryForms;
  /** Commands at the start of the transaction. */
  readonly preamble: readonly Step[];
}

/** Explains statements in a transaction, and rolls it back. */
export async function explainStatements(
  query: Explain,
  { session, forms, preamble }: ExplainContext,
): Promise<Explanation> {
  const { statements, window, analyze } = query;
  const [only] = statements;
  // Outside the transaction, because a LIMIT that the server rejects would end it. So it must not need a temporary table.
  const explained =
    only !== undefined && statements.length === 1
      ? [(await windowedQuery(only, window, { session, forms })).prepared.statement]
      : statements;
  await session.run([{ run: "BEGIN READ WRITE" }, ...preamble]);
  const plans: StatementPlan[] = [];
  for (const statement of explained) plans.push(await explainOne(statement, analyze, session));
  await session.rollback();
  return { kind: "plans", plans };
}

const EXPLAINABLE = new Set(["SELECT", "WITH", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "MERGE"]);

async function explainOne(statement: Statement, analyze: boolean, session: Session): Promise<StatementPlan> {
  const [first = "", second = ""] = topLevelWords(tokensOf(statement.sql, postgresDialect));
  if (!EXPLAINABLE.has(first)) {
    const isTemporary = first === "CREATE" && (second === "TEMP" || second === "TEMPORARY");
    // Later statements may read a temporary table.
    if (analyze || isTemporary) await session.run([{ run: await session.prepare(statement) }]);
    return { root: undefined, reason: `Postgres has no plan of ${first}`, ms: undefined };
  }
  const options = analyze ? "ANALYZE, FORMAT JSON" : "FORMAT JSON";
  const prepared = await session.prepare({ ...statement, sql: `EXPLAIN (${options})\n${statement.sql}` });
  let json = "";
  const onRow = (bytes: Buffer, start: number): void => {
    json += bytes.toString("utf8", start + ROW_HEADER, start + ROW_HEADER + bytes.readInt32BE(start + 2));
  };
  await session.run([{ run: prepared, onRow }]);
  // Postgres writes one object for each statement.
  const [found] = JSON.parse(json) as readonly PostgresExplanation[];
  return { root: found && treeOf(found.Plan), reason: undefined, ms: found?.["Execution Time"] };
}

/** The number of columns, and the length of the first one. */
const ROW_HEADER = 6;

interface PostgresExplanation {
  readonly Plan: PostgresNode;
  readonly "Execution Time"?: number;
}

interface PostgresNode {
  readonly "Node Type": string;
  readonly "Plan Rows"?: number;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Actual Total Time"?: number;
  readonly Plans?: readonly PostgresNode[];
  readonly [name: string]: unknown;
}

const CONDITIONS = ["Index Cond", "Recheck Cond", "Filter"];
const DETAILS = ["Relation Name", "Alias", "Index Name", "Join Type", "Hash Cond", "Merge Cond", "Join Filter"];
const LISTS = ["Sort Key", "Group Key"];

function treeOf(node: PostgresNode): PlanNode {
  const { Plans: plans = [] } = node;
  const detail = [...DETAILS, ...LISTS, ...(node["Relation Name"] === undefined ? CONDITIONS : [])].flatMap((name) =>
    node[name] === undefined ? [] : [[name, [node[name]].flat().join(", ")]],
  );
  const loops = node["Actual Loops"] ?? 1;
  const total = timeOf(node);
  const ofChildren = plans.reduce((sum, child) => sum + (timeOf(child) ?? 0), 0);
  return {
    operator: node["Node Type"],
    detail: Object.fromEntries(detail),
    filters: node["Relation Name"] === undefined ? [] : CONDITIONS.flatMap((name) => (node[name] as string) ?? []),
    estimatedRows: node["Plan Rows"],
    rows: node["Actual Rows"] === undefined ? undefined : Math.round(node["Actual Rows"] * loops),
    ms: total === undefined ? undefined : Math.max(0, total - ofChildren),
    children: plans.map(treeOf),
  };
}

/** Postgres measures each loop. */
function timeOf(node: PostgresNode): number | undefined {
  const time = node["Actual Total Time"];
  return time === undefined ? undefined : time * (node["Actual Loops"] ?? 1);
}
