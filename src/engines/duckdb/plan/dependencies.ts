import { openLru } from "../../../bounded/lru.ts";
import { textBytes } from "../../../bounded/own-text.ts";
import { quoteIdentifier } from "../../../sql/quote.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { TextRows } from "../../embedded-engine.ts";
import { mentions } from "../session/connection-pool.ts";
import { shortName } from "../session/data-versions.ts";

/** What the rows of a query depend on, besides its SQL and values. */
export interface Dependencies {
  /** Concurrent identical queries may share one execution. */
  readonly shareable: boolean;
  /**
   * The tables that it depends on, by short names, if these are all in Eider's own databases. Undefined if it also depends on the
   * time, files, other databases or anything unknown.
   */
  readonly tables: readonly string[] | undefined;
}

export interface DependencyFinder {
  /** Inspects a query once per SQL string. Never rejects: on failure, the dependencies are unknown. */
  of(statement: Statement): Promise<Dependencies>;
  /** What is known about an SQL string so far. */
  known(sql: string): Dependencies | undefined;
  /** Whether a query is known to read only tables of Eider's own databases. If unknown, inspects it for the next call. */
  readsOwnTables(statement: Statement): boolean;
  /** Call it when all names, or these (in lower case), may refer to other things than before. */
  forget(names?: readonly string[]): void;
}

/** What is needed to inspect a query. */
export interface QueryInspection {
  /** Runs one of Eider's own statements without the optimizer, so that plans are complete. */
  inspect(statement: Statement): Promise<TextRows>;
  /** The catalogs of Eider's own databases: no other process changes them. */
  readonly catalogs: ReadonlySet<string>;
}

const UNKNOWN: Dependencies = { shareable: false, tables: undefined };
/** Room for about four thousand SQL strings of a thousand characters. */
const MAX_BYTES = 8 * 1024 * 1024;

export function dependencyFinder(inspection: QueryInspection): DependencyFinder {
  const found = openLru<Dependencies>({ maxBytes: MAX_BYTES, bytesOf: bytesOfTables });
  const pending = new Map<string, Promise<Dependencies>>();
  let hidden: Promise<HiddenSql> | undefined;

  async function inspectQuery(statement: Statement): Promise<Dependencies> {
    hidden ??= readHiddenSql(inspection).catch((error: unknown) => {
      // A catalog that cannot be read now may be readable later.
      hidden = undefined;
      throw error;
    });
    const [hiddenSql, plan] = await Promise.all([hidden, explain(statement, inspection)]);
    return dependenciesOf(`${statement.sql}\n${hiddenSql.usedBy(statement.sql)}`, {
      volatile: hiddenSql.volatile,
      timed: hiddenSql.timed,
      plan: readPlan(plan),
      catalogs: inspection.catalogs,
    });
  }

  function of(statement: Statement): Promise<Dependencies> {
    const { sql } = statement;
    const known = found.get(sql);
    if (known !== undefined) return Promise.resolve(known);
    const running = pending.get(sql);
    if (running !== undefined) return running;
    const work = inspectQuery(statement)
      .catch(() => UNKNOWN)
      .then((dependencies) => {
        if (pending.get(sql) === work) {
          pending.delete(sql);
          found.set(sql, dependencies);
        }
        return dependencies;
      });
    pending.set(sql, work);
    return work;
  }

  return {
    of,
    known: (sql) => found.get(sql),
    readsOwnTables(statement) {
      const known = found.get(statement.sql);
      if (known === undefined) void of(statement);
      return known?.tables !== undefined;
    },
    forget(names) {
      if (names === undefined) found.clear();
      // The SQL may name a view on the table instead.
      else
        found.deleteWhere(
          (sql, { tables }) => mentions(sql, names) || (tables?.some((table) => names.includes(table)) ?? false),
        );
      pending.clear();
      // Listing all views and functions takes longer than most queries. Names are only passed for Eider's own changes, which only
      // replace a view that names a table and calls nothing.
      if (names === undefined) hidden = undefined;
    },
  };
}

function bytesOfTables({ tables = [] }: Dependencies): number {
  return tables.reduce((sum, table) => sum + textBytes(table), 64);
}

/** The physical plan, as DuckDB prints it in JSON. */
async function explain({ sql, values }: Statement, { inspect }: QueryInspection): Promise<string> {
  const [[, plan] = []] = await inspect({ sql: `EXPLAIN (FORMAT json) ${sql}`, values });
  return plan ?? "[]";
}

interface PlanNode {
  readonly name: string;
  readonly children: readonly PlanNode[];
  readonly extra_info: { readonly Table?: string };
}

/** Leaf operators of a plan whose rows come from the query itself. */
const OWN_ROWS = new Set(
  (
    "DUMMY_SCAN EMPTY_RESULT COLUMN_DATA_SCAN CTE_SCAN REC_CTE_SCAN DELIM_SCAN HASH_GROUP_BY RANGE GENERATE_SERIES " +
    "UNNEST REPEAT REPEAT_ROW JSON_EACH JSON_TREE TEST_ALL_TYPES"
  ).split(" "),
);

interface PlanFacts {
  readonly tables: ReadonlySet<string>;
  /** Whether any leaf is something other than a DuckDB table. */
  readonly external: boolean;
  readonly samples: boolean;
}

function readPlan(json: string): PlanFacts {
  const tables = new Set<string>();
  let external = false;
  let samples = false;
  const visit = (node: PlanNode): void => {
    if (node.name.includes("SAMPLE")) samples = true;
    if (node.name === "SEQ_SCAN" && node.extra_info.Table !== undefined) tables.add(node.extra_info.Table);
    else if (node.children.length === 0 && !OWN_ROWS.has(node.name)) external = true;
    node.children.forEach(visit);
  };
  // The cast is safe: it is DuckDB's own output.
  for (const root of JSON.parse(json) as readonly PlanNode[]) visit(root);
  return { tables, external, samples };
}

function dependenciesOf(
  text: string,
  facts: {
    readonly volatile: RegExp;
    readonly timed: RegExp;
    readonly plan: PlanFacts;
    readonly catalogs: ReadonlySet<string>;
  },
): Dependencies {
  const { plan, catalogs } = facts;
  const shareable = !plan.samples && !facts.volatile.test(text);
  const isOwn =
    !plan.external && [...plan.tables].every((table) => [...catalogs].some((catalog) => isIn(table, catalog)));
  return {
    shareable,
    tables: shareable && isOwn && !facts.timed.test(text) ? [...plan.tables].map(shortName) : undefined,
  };
}

/** Plans name tables as `catalog.schema.table`, with quotes where a name needs them. */
function isIn(table: string, catalog: string): boolean {
  return table.startsWith(`${catalog}.`) || table.startsWith(`${quoteIdentifier(catalog)}.`);
}

/** Views and macros hide what they call: their SQL counts as part of the query that names them. */
interface HiddenSql {
  usedBy(sql: string): string;
  readonly volatile: RegExp;
  readonly timed: RegExp;
}

/**
 * Functions whose result depends on more than their arguments, although DuckDB calls them consistent, and those that run SQL from
 * a value. Functions that end in _query or _execute pass SQL to another database.
 */
const ALSO_VOLATILE = [
  "getvariable",
  "getenv",
  "current_setting",
  "query",
  "query_table",
  "pg_sleep",
  "\\w+_query",
  "\\w+_execute",
];
const ALSO_TIMED = ["age", "ago"];
const TIMED_WITHOUT_PARENTHESES = ["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"];

async function readHiddenSql({ inspect }: QueryInspection): Promise<HiddenSql> {
  const rows = (sql: string): Promise<TextRows> => inspect({ sql, values: [] });
  const inconsistent = await rows(
    "SELECT DISTINCT function_name, stability FROM duckdb_functions() WHERE stability <> 'CONSISTENT'",
  );
  const views = await rows("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal");
  const macros = await rows(
    "SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal AND macro_definition IS NOT NULL",
  );
  const definitions = [...views, ...macros].map(([name, text]) => ({
    name: (name ?? "").toLowerCase(),
    text: text ?? "",
  }));
  const functionsOf = (wanted: string): string[] =>
    inconsistent.flatMap(([name, stability]) =>
      stability === wanted && /^\w+$/.test(name ?? "") && name !== "error" ? [name ?? ""] : [],
    );
  return {
    volatile: callPattern([...functionsOf("VOLATILE"), ...ALSO_VOLATILE], []),
    timed: callPattern([...functionsOf("CONSISTENT_WITHIN_QUERY"), ...ALSO_TIMED], TIMED_WITHOUT_PARENTHESES),
    usedBy(sql) {
      const used = new Set<string>();
      const follow = (text: string): void => {
        const lower = text.toLowerCase();
        for (const definition of definitions) {
          if (used.has(definition.text) || !lower.includes(definition.name)) continue;
          used.add(definition.text);
          follow(definition.text);
        }
      };
      follow(sql);
      return [...used].join("\n");
    },
  };
}

function callPattern(functions: readonly string[], words: readonly string[]): RegExp {
  const called = `\\b(?:${functions.join("|")})"?\\s*\\(`;
  return new RegExp(words.length === 0 ? called : `${called}|\\b(?:${words.join("|")})\\b`, "i");
}
