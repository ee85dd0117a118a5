import { type CacheMode, cacheKey } from "../cache/cache.ts";
import { canCompare } from "../cache/cursor.ts";
import { foldName, tableIn } from "../cache/store-names.ts";
import { hasErrors, type KeyPath, type Problem } from "../config/problem.ts";
import { errorAt, warningAt } from "../config/tree.ts";
import type { AssumedColumn, AssumedTable, EmbeddedEngine } from "../engines/embedded-engine.ts";
import type { Engine } from "../engines/engine.ts";
import { changedName, effectsOf } from "../sql/classify.ts";
import { statement } from "../sql/statement.ts";
import { tokensOf } from "../sql/statement-words.ts";
import type { CompiledRefresh } from "./compile-refresh.ts";
import { sampleLookup, samplesOf, sampleTable } from "./samples.ts";
import { problemAt, renderSample, skipSpace } from "./template-check.ts";
import { verifyEndpoint } from "./verify-endpoint.ts";

/** The result of checking a refresh. `canPlanReads`: the database can plan templates that read the cache table. */
export interface VerifiedRefresh {
  readonly problems: readonly Problem[];
  readonly canPlanReads: boolean;
}

/** Checks a refresh with the database, without running it. If it is valid, the database can plan reads of its table. */
export async function verifyRefresh(
  refresh: CompiledRefresh,
  { engine, source }: { readonly engine: EmbeddedEngine; readonly source: Engine },
): Promise<VerifiedRefresh> {
  if (source !== engine) return await verifyRemote(refresh, engine, source);
  const { endpoint, definition, catalog, first } = refresh;
  const { schema, table } = definition.name;
  const name = tableIn(catalog, schema, table);
  const other = otherTableProblem(refresh, engine);
  if (other !== undefined) {
    const { problems } = await verifyEndpoint(endpoint, engine, "parse");
    return { problems: hasErrors(problems) ? problems : [other], canPlanReads: false };
  }
  const rows = first.kind === "own" ? [...first.statements, statement(`SELECT * FROM ${name}`)] : first.statements;
  const columns = await engine.assumeTable(assumedTable(refresh), rows);
  // Without its columns, a template that selects from its own table cannot be planned.
  const readsItself =
    first.kind === "select" && endpoint.namedCaches.some((each) => cacheKey(each) === cacheKey(definition.name));
  const depth = columns === undefined && readsItself ? "parse" : "plan";
  const { problems } = await verifyEndpoint(endpoint, engine, depth);
  if (columns === undefined || hasErrors(problems)) return { problems, canPlanReads: false };
  const found = [...columnProblems(refresh, columns), ...typeProblems(refresh, columns)];
  return { problems: [...problems, ...found], canPlanReads: true };
}

/** Another engine runs the query; the embedded one stores its rows. */
async function verifyRemote(
  refresh: CompiledRefresh,
  engine: EmbeddedEngine,
  source: Engine,
): Promise<VerifiedRefresh> {
  const { endpoint, first, locate } = refresh;
  if (first.kind === "own") {
    const path = ["cache", "template-file"];
    const message =
      "the engine of this connection cannot change the cache table; write only a SELECT, whose rows are stored";
    return { problems: [errorAt(locate(path), path, message)], canPlanReads: false };
  }
  const { problems } = await verifyEndpoint(endpoint, source, "plan");
  const described = hasErrors(problems) ? undefined : await source.describe(first.statements);
  if (described === undefined) return { problems, canPlanReads: false };
  const columns = await engine.assumeTable(assumedTable(refresh), [engine.emptyQuery(described)]);
  if (columns === undefined) return { problems, canPlanReads: false };
  const found = [...columnProblems(refresh, columns), ...typeProblems(refresh, columns)];
  return { problems: [...problems, ...found], canPlanReads: true };
}

/** For a refresh that cannot be planned now: reads are planned with the columns of its snapshot. Returns whether it has one. */
export async function assumeStoredTable(refresh: CompiledRefresh, engine: EmbeddedEngine): Promise<boolean> {
  const { schema, table } = refresh.definition.name;
  const rows = [statement(`SELECT * FROM ${tableIn(refresh.catalog, schema, table)}`)];
  return (await engine.assumeTable(assumedTable(refresh), rows)) !== undefined;
}

/** The table has its configured name, and another name for each snapshot. */
function assumedTable({ catalog, definition: { name } }: CompiledRefresh): AssumedTable {
  return { catalog, schema: name.schema, tables: [name.table, sampleTable(name)] };
}

/** The problem of a template that changes other tables, but never its cache table. */
function otherTableProblem(
  { endpoint, definition, catalog, first }: CompiledRefresh,
  engine: Engine,
): Problem | undefined {
  const { template, source } = endpoint;
  if (first.kind === "select" || template === undefined || source === undefined) return undefined;
  const { schema, table } = definition.name;
  const own = [catalog, schema, table].join(".").toLowerCase();
  let other: Problem | undefined;
  for (const sample of samplesOf(endpoint, template)) {
    const rendered = renderSample({ endpoint, template, source, engine, depth: "parse" }, sampleLookup(sample));
    const texts = rendered.statements.map(({ sql }) => sql);
    const effects = effectsOf(texts, engine.dialect);
    for (const [index, sql] of texts.entries()) {
      const effect = effects[index];
      if (effect === undefined || effect.kind === "reads") continue;
      const changed = changedName(sql, engine.dialect)?.join(".");
      if (changed === own) return undefined;
      const verb = tokensOf(sql, engine.dialect)[0]?.at ?? 0;
      other ??= problemAt(source, skipSpace(source.text, rendered.origin(index, verb)), {
        severity: "error",
        message: `the template does not fill its cache table, but changes ${changed ?? `something else (${effect.verb})`}; write {{cache.catalog}}.{{cache.schema}}.{{cache.table}}, or only a SELECT`,
      });
    }
  }
  return other;
}

/** Configured columns that the query lacks. A template that changes the table itself need not use them, so it gets warnings. */
function columnProblems(
  { definition: { mode }, locate, first }: CompiledRefresh,
  columns: readonly AssumedColumn[],
): readonly Problem[] {
  const known = new Set(columns.map(({ name }) => foldName(name)));
  return columnKeys(mode)
    .filter(({ column }) => !known.has(foldName(column)))
    .map(({ path, column }) => {
      const message = `the refresh has no column '${column}'; it has ${columns.map(({ name }) => name).join(", ")}`;
      return (first.kind === "own" ? warningAt : errorAt)(locate(path), path, message);
    });
}

function columnKeys(mode: CacheMode): readonly { readonly path: KeyPath; readonly column: string }[] {
  if (mode.kind === "full") return [];
  const cursor = { path: ["cache", "cursor", "column"], column: mode.cursor };
  const keys = mode.kind === "merge" ? mode.primaryKey : [];
  return [cursor, ...keys.map((column, index) => ({ path: ["cache", "primary-key", index], column }))];
}

/** The problem of a cursor whose values cannot be compared as its `type`. */
function typeProblems(
  { definition: { mode }, locate }: CompiledRefresh,
  columns: readonly AssumedColumn[],
): readonly Problem[] {
  if (mode.kind === "full") return [];
  const column = columns.find(({ name }) => foldName(name) === foldName(mode.cursor));
  if (column === undefined || canCompare(mode, column.type)) return [];
  const path = ["cache", "cursor", "type"];
  const message = `'${column.name}' is of type ${column.type}, which cannot be compared as ${mode.cursorType}; remove the type, or convert the column in the refresh`;
  return [errorAt(locate(path), path, message)];
}
