import type { EmbeddedEngine, TextRows } from "../engines/embedded-engine.ts";
import { statement, textValue } from "../sql/statement.ts";

/** Runs a statement whose columns are all VARCHAR. */
export type TextQuery = (sql: string, ...values: readonly string[]) => Promise<TextRows>;

/** Runs statements over connections, which are opened first. */
export function queryWith(engine: EmbeddedEngine, connections: readonly string[]): TextQuery {
  const { signal } = new AbortController();
  return (sql, ...values) =>
    engine.change({ connections, touches: [], signal }, (run) => run(statement(sql, ...values.map(textValue))));
}
