import type { Dialect } from "../../sql/dialect.ts";
import type { FunctionRole } from "../../sql/function-role.ts";
import type { PrivilegedAction } from "../../sql/privileged-action.ts";
import { topLevelWords } from "../../sql/statement-words.ts";
import type { Token } from "../../sql/token.ts";

/** Type names of one word that may precede a literal (`DATE '2024-01-31'`). */
const LITERAL_TYPES = `
  DATE TIME TIMETZ TIMESTAMP TIMESTAMPTZ INTERVAL VARCHAR TEXT CHAR BPCHAR NAME UUID JSON JSONB JSONPATH XML BYTEA BIT VARBIT
  BOOLEAN BOOL SMALLINT INTEGER INT BIGINT INT2 INT4 INT8 OID REAL FLOAT FLOAT4 FLOAT8 DECIMAL NUMERIC DEC MONEY
  INET CIDR MACADDR MACADDR8 POINT LINE LSEG BOX PATH POLYGON CIRCLE TSVECTOR TSQUERY REGCLASS REGTYPE REGPROC
  INT4RANGE INT8RANGE NUMRANGE TSRANGE TSTZRANGE DATERANGE CITEXT HSTORE`;

const CHANGING_VERBS = `
  INSERT UPDATE DELETE MERGE TRUNCATE CREATE DROP ALTER COMMENT COPY IMPORT LOAD CALL DO GRANT REVOKE REASSIGN SECURITY
  SET RESET DISCARD BEGIN START COMMIT ROLLBACK ABORT END SAVEPOINT RELEASE PREPARE EXECUTE DEALLOCATE DECLARE FETCH MOVE CLOSE
  LOCK NOTIFY LISTEN UNLISTEN REFRESH ANALYZE ANALYSE VACUUM CLUSTER CHECKPOINT REINDEX`;

const SQL: FunctionRole = { kind: "sql", quoting: "standard", runsIn: "this-database" };
const FILE: FunctionRole = { kind: "file" };
const NAME: FunctionRole = { kind: "name" };

/** Functions whose arguments are more than values. */
const ROLES: ReadonlyMap<string, FunctionRole> = new Map([
  ...roles(
    SQL,
    `query_to_xml query_to_xmlschema query_to_xml_and_xmlschema ts_stat ts_rewrite dblink dblink_exec dblink_open dblink_send_query
    dblink_connect dblink_connect_u crosstab crosstab2 crosstab3 crosstab4 crosstabn connectby xpath_table`,
  ),
  ...roles(
    FILE,
    `pg_read_file pg_read_binary_file pg_ls_dir pg_stat_file pg_file_write pg_file_rename pg_file_unlink pg_file_sync lo_import
    lo_export pg_ls_logdir pg_ls_waldir pg_ls_tmpdir`,
  ),
  ...roles(
    NAME,
    `nextval setval currval set_config current_setting table_to_xml table_to_xmlschema table_to_xml_and_xmlschema schema_to_xml
    schema_to_xmlschema cursor_to_xml cursor_to_xmlschema database_to_xml pg_get_serial_sequence pg_relation_size
    pg_total_relation_size pg_table_size pg_indexes_size pg_notify to_regclass to_regproc to_regtype pg_terminate_backend
    pg_cancel_backend pg_logical_emit_message`,
  ),
]);

/** Statements that do more than read or change data. */
const PRIVILEGED: ReadonlyMap<string, PrivilegedAction["permission"]> = new Map([
  ["COPY", "copy"],
  ["LOAD", "load"],
  ["SET", "set"],
  ["RESET", "set"],
  ["DISCARD", "set"],
  ["CHECKPOINT", "checkpoint"],
]);

/** What the template compiler must know about the SQL of Postgres. */
export const postgresDialect: Dialect = {
  placeholder: (n) => `$${n}`,
  questionMarks: false,
  nestedComments: true,
  dollarQuotes: true,
  escapePrefixes: new Set(["e"]),
  literalTypes: new Set(words(LITERAL_TYPES)),
  changingVerbs: new Set(words(CHANGING_VERBS)),
  fileVerbs: new Set(["COPY", "LOAD"]),
  changesData: () => false,
  hiddenChanges: true,
  privilegedActions,
  roleOf: (name) => ROLES.get(name),
  variablesPassedBy: () => [],
};

function privilegedActions(all: readonly Token[]): readonly PrivilegedAction[] {
  const [verb = ""] = topLevelWords(all);
  const permission = PRIVILEGED.get(verb);
  return permission === undefined
    ? []
    : [{ permission, what: verb, at: all.find(({ kind }) => kind === "word")?.at ?? 0 }];
}

function roles(role: FunctionRole, names: string): readonly (readonly [string, FunctionRole])[] {
  return words(names).map((name) => [name, role] as const);
}

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
