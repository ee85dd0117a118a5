import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { integerValue, statement, textValue } from "../sql/statement.ts";
import type { StaleMarks } from "./stale-marks.ts";
import { auditTable } from "./store-layout.ts";
import { inReadTransaction, inTransaction } from "./store-sql.ts";

const TOUCHED: readonly string[] = ["stale_marks"];

/**
 * Stores marks as rows of an audit table. A refresh does not remove them in its own transaction: in DuckLake, that would
 * conflict with every mark that is added meanwhile.
 */
export function openStoredMarks(
  engine: EmbeddedEngine,
  { catalog, now, randomId }: { readonly catalog: string; readonly now: () => number; readonly randomId: () => string },
): StaleMarks {
  const table = auditTable(catalog, "stale_marks");
  return {
    async load() {
      const sql = `SELECT schema_name, table_name, uid, action FROM ${table}`;
      const rows = await inReadTransaction(engine, (run) => run(statement(sql)));
      return rows.map(([schema, name, uid, action]) => ({
        name: { schema: schema ?? "", table: name ?? "" },
        uid: uid ?? "",
        action: action === "refresh" ? "refresh" : "invalidate",
      }));
    },
    async add(name, action) {
      const uid = randomId();
      const insert = statement(
        `INSERT INTO ${table} VALUES ($1, $2, $3, $4, epoch_ms($5::BIGINT))`,
        ...[name.schema, name.table, uid, action].map(textValue),
        integerValue(now()),
      );
      await inTransaction(engine, TOUCHED, (run) => run(insert));
      return uid;
    },
    async remove(uids) {
      if (uids.length === 0) return;
      const placeholders = uids.map((_, index) => `$${index + 1}`).join(", ");
      const removal = statement(`DELETE FROM ${table} WHERE uid IN (${placeholders})`, ...uids.map(textValue));
      await inTransaction(engine, TOUCHED, (run) => run(removal));
    },
  };
}
