import type { StageRows } from "../engines/embedded-engine.ts";
import type { Engine, StopSignal } from "../engines/engine.ts";
import type { Statement } from "../sql/statement.ts";
import type { Run } from "./store-sql.ts";

/** A query whose rows are stored. */
export interface StoredQuery {
  readonly connections: readonly string[];
  readonly statements: readonly Statement[];
  readonly signal: StopSignal;
}

/**
 * Passes statements that return the rows of a query to `work`. If another engine runs the query, its rows are put into a temporary
 * table first, while they arrive.
 */
export async function withRowsOf<T>(
  query: StoredQuery,
  { source, run, stage }: { readonly source: Engine | undefined; readonly run: Run; readonly stage: StageRows },
  work: (statements: readonly Statement[]) => Promise<T>,
): Promise<T> {
  if (source === undefined) return await work(query.statements);
  const staged = await stage(await source.read({ ...query, window: undefined, totalOf: undefined }));
  const result = await work([staged.query]);
  await run(staged.drop);
  return result;
}
