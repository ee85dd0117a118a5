import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import type { Engine } from "../engines/engine.ts";
import type { Engines } from "../engines/engines.ts";
import { makeUnique } from "../result/column-names.ts";
import { type Statement, statement } from "../sql/statement.ts";
import type { CacheDefinition, CacheName } from "./cache.ts";
import { definitionText, FIRST_FILL } from "./definition-text.ts";
import { foldName, tableIn } from "./store-names.ts";
import { type CurrentSnapshot, currentSnapshot } from "./store-records.ts";
import { inReadTransaction, type Run } from "./store-sql.ts";

interface OutdatedOptions {
  readonly catalog: string;
  readonly definitions: readonly CacheDefinition[];
  /** Whether a connection is open, so that queries over it can be planned. */
  readonly isOpen: (connection: string) => boolean;
  readonly engineOf: Engines["engineOf"];
}

/** The caches whose current snapshot was made with a different query or mode, or has other columns than their query returns. */
export async function outdatedCaches(
  engine: EmbeddedEngine,
  { catalog, definitions, isOpen, engineOf }: OutdatedOptions,
): Promise<readonly CacheName[]> {
  const filled = await inReadTransaction(engine, (run) => filledCaches(run, catalog, definitions));
  const outdated: CacheName[] = [];
  for (const { definition, current } of filled) {
    const table = tableIn(catalog, definition.name.schema, current.physicalTable);
    const canPlan = definition.connections.every(isOpen);
    if (
      !current.matchesDefinition ||
      (canPlan && (await hasOtherColumns(engine, engineOf(definition.connections), { definition, table })))
    )
      outdated.push(definition.name);
  }
  return outdated;
}

interface FilledCache {
  readonly definition: CacheDefinition;
  readonly current: CurrentSnapshot;
}

async function filledCaches(
  run: Run,
  catalog: string,
  definitions: readonly CacheDefinition[],
): Promise<readonly FilledCache[]> {
  const filled: FilledCache[] = [];
  for (const definition of definitions) {
    const { name } = definition;
    const current = await currentSnapshot(run, catalog, { name, definition: definitionText(definition) });
    if (current !== undefined) filled.push({ definition, current });
  }
  return filled;
}

/** Whether the query returns other columns than the table has, for example `SELECT *` from changed data. False if unknown. */
async function hasOtherColumns(
  engine: EmbeddedEngine,
  source: Engine,
  { definition, table }: { readonly definition: CacheDefinition; readonly table: string },
): Promise<boolean> {
  const { kind, statements } = definition.render(FIRST_FILL);
  if (kind === "own") return false;
  const query = await columnNames(source, statements);
  if (query === undefined || query.length === 0) return false;
  const stored = await columnNames(engine, [statement(`SELECT * FROM ${table}`)]);
  return stored !== undefined && stored.join("\0") !== query.join("\0");
}

async function columnNames(engine: Engine, statements: readonly Statement[]): Promise<readonly string[] | undefined> {
  const columns = await engine.describe(statements);
  return (
    columns &&
    makeUnique(
      columns.map(({ name }) => name),
      foldName,
    )
  );
}
