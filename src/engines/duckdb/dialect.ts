import type { Dialect } from "../../sql/dialect.ts";
import { roleByName } from "./functions/function-roles.ts";
import { privilegedActions } from "./functions/privileged-actions.ts";

/** Type names that may precede a literal (`DATE '2024-01-31'`): all that consist of one word. */
const LITERAL_TYPES = `
  DATE TIME TIMETZ TIME_NS TIMESTAMP DATETIME TIMESTAMPTZ TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_US TIMESTAMP_NS INTERVAL
  VARCHAR TEXT STRING CHAR BPCHAR NVARCHAR UUID GUID JSON BLOB BYTEA BINARY VARBINARY BIT BITSTRING BOOLEAN BOOL LOGICAL
  TINYINT SMALLINT INTEGER INT BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT SHORT LONG SIGNED INTEGRAL
  INT1 INT2 INT4 INT8 INT16 INT32 INT64 INT128 UINT8 UINT16 UINT32 UINT64 UINT128 OID
  FLOAT REAL DOUBLE FLOAT4 FLOAT8 DECIMAL NUMERIC DEC BIGNUM VARINT GEOMETRY VARIANT`;

const CHANGING_VERBS = `
  INSERT UPDATE DELETE MERGE TRUNCATE CREATE DROP ALTER COMMENT COPY EXPORT IMPORT ATTACH DETACH INSTALL LOAD
  SET RESET USE BEGIN START COMMIT ROLLBACK ABORT END PREPARE EXECUTE DEALLOCATE VACUUM CHECKPOINT FORCE REINDEX`;

/** What the template compiler must know about DuckDB's SQL. */
export const duckdbDialect: Dialect = {
  placeholder: (n) => `$${n}`,
  questionMarks: true,
  nestedComments: true,
  dollarQuotes: true,
  escapePrefixes: new Set(["e"]),
  literalTypes: new Set(words(LITERAL_TYPES)),
  changingVerbs: new Set(words(CHANGING_VERBS)),
  fileVerbs: new Set(["ATTACH", "EXPORT", "IMPORT", "INSTALL", "LOAD"]),
  // `postgres_execute('db', '...')` and similar functions change another database.
  changesData: (name) => name.endsWith("_EXECUTE"),
  hiddenChanges: false,
  privilegedActions,
  roleOf: roleByName,
  variablesPassedBy: () => [],
};

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
