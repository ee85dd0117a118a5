import type { Endpoint } from "../endpoint/endpoint.ts";
import { type Sample, sampleLookup, samplesOf, singleSamples } from "../endpoint/samples.ts";
import type { Engine } from "../engines/engine.ts";
import type { Engines } from "../engines/engines.ts";
import type { Column } from "../result/column.ts";
import { effectsOf } from "../sql/classify.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type Lookup, render } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";
import type { Template } from "../sql/template.ts";
import { mergeShapes, type RowShape, UNKNOWN_ROWS } from "./row-shape.ts";
import { haveSameColumns } from "./same-columns.ts";

const MAX_CONCURRENT = 4;

/** Finds the shape of the rows of each endpoint. Prepares its template, but does not run it. */
export async function describeEndpoints(
  endpoints: readonly Endpoint[],
  { engineOf }: Pick<Engines, "engineOf">,
): Promise<ReadonlyMap<Endpoint, RowShape>> {
  const shapes = new Map<Endpoint, RowShape>();
  let next = 0;
  const work = async (): Promise<void> => {
    for (let endpoint = endpoints[next++]; endpoint !== undefined; endpoint = endpoints[next++]) {
      shapes.set(endpoint, await describeEndpoint(endpoint, engineOf(endpoint.connections)));
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
  return shapes;
}

/**
 * Sections and enums may determine the columns. So the template is prepared with all optional parameters, with none, and with
 * every value of an enum that becomes part of the SQL.
 */
async function describeEndpoint(endpoint: Endpoint, engine: Engine): Promise<RowShape> {
  const { template, operation } = endpoint;
  if (template === undefined || (operation.kind === "write" && !operation.returnsData)) return { kind: "none" };
  const variants = openVariants({ endpoint, template, engine });
  const [least, all, ...values] = samplesOf(endpoint, template);
  if (least === undefined || all === undefined) throw new Error("there is always a least and a full sample");
  for (const sample of [all, least, ...values]) await variants.add(sample);
  // If the columns depend on some parameters, each optional parameter is also set alone.
  if (variants.differ()) for (const single of singleSamples(all)) await variants.add(single);
  return variants.shape();
}

interface DescribeInput {
  readonly endpoint: Endpoint;
  readonly template: Template;
  readonly engine: Engine;
}

function openVariants(input: DescribeInput) {
  const { endpoint, template, engine } = input;
  const seen: (readonly Statement[])[] = [];
  const variants: (readonly Column[])[] = [];
  let isUnknown = false;
  let differ = false;
  return {
    async add(sample: Sample): Promise<void> {
      const { dialect } = engine;
      const statements = render(template, lookupOf(endpoint, sample), { dialect });
      if (isUnknown || seen.some((before) => certainlySameColumns(before, statements, endpoint, dialect))) return;
      const columns = await columnsOf(statements, input);
      if (columns !== undefined) {
        seen.push(statements);
        variants.push(columns);
        differ ||= namesOf(columns) !== namesOf(variants[0] ?? []);
        return;
      }
      differ = true;
      // A rejected variant never returns rows. The columns of an accepted one are unknown.
      const problem = await engine.plan(statements);
      isUnknown = problem === undefined || problem.kind === "other";
    },
    differ: () => differ,
    shape: (): RowShape => (isUnknown || variants.length === 0 ? UNKNOWN_ROWS : mergeShapes(variants)),
  };
}

/** Whether two renderings certainly have the same columns. */
function certainlySameColumns(
  before: readonly Statement[],
  statements: readonly Statement[],
  { operation }: Endpoint,
  dialect: Dialect,
): boolean {
  if (operation.kind === "read" && haveSameColumns(before, statements, dialect)) return true;
  return before.length === statements.length && before.every(({ sql }, index) => sql === statements[index]?.sql);
}

function namesOf(columns: readonly Column[]): string {
  return JSON.stringify(columns.map(({ name }) => name));
}

/** Uses the configured name of a cache table: a filled cache has a view with that name and the columns of its snapshots. */
function lookupOf({ cache }: Endpoint, sample: Sample): Lookup {
  const lookup = sampleLookup(sample);
  if (cache?.kind !== "table") return lookup;
  const { table } = cache.name;
  return (ref) =>
    ref.scope === "cache" && ref.name === "table" ? { text: table, type: "VARCHAR", value: table } : lookup(ref);
}

/** The columns of the returned rows. Undefined if unknown, empty if there are no rows. */
async function columnsOf(
  statements: readonly Statement[],
  { endpoint, engine }: DescribeInput,
): Promise<readonly Column[] | undefined> {
  if (endpoint.operation.kind === "read") return engine.describe(statements);
  const effects = effectsOf(
    statements.map(({ sql }) => sql),
    engine.dialect,
  );
  // The columns of the last RETURNING, otherwise those of a final query.
  for (let count = statements.length; count > 0; count--) {
    if (effects[count - 1]?.kind !== "changes") continue;
    const columns = await engine.describe(statements.slice(0, count));
    if (columns === undefined || columns.length > 0) return columns;
  }
  return effects.at(-1)?.kind === "reads" ? engine.describe(statements) : [];
}
