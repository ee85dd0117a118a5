import type { Dialect, RemoteQuoting } from "../../sql/dialect.ts";

/** What may stand before a literal: every type name of one word. */
const LITERAL_TYPES = `
  DATE TIME TIMETZ TIME_NS TIMESTAMP DATETIME TIMESTAMPTZ TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_US TIMESTAMP_NS INTERVAL
  VARCHAR TEXT STRING CHAR BPCHAR NVARCHAR UUID GUID JSON BLOB BYTEA BINARY VARBINARY BIT BITSTRING BOOLEAN BOOL LOGICAL
  TINYINT SMALLINT INTEGER INT BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT SHORT LONG SIGNED INTEGRAL
  INT1 INT2 INT4 INT8 INT16 INT32 INT64 INT128 UINT8 UINT16 UINT32 UINT64 UINT128 OID
  FLOAT REAL DOUBLE FLOAT4 FLOAT8 DECIMAL NUMERIC DEC BIGNUM VARINT GEOMETRY VARIANT`;

/** Functions that hand a text to another SQL parser, by how that one reads string literals. decisions.md 4. */
const SQL_FUNCTIONS: Readonly<Record<RemoteQuoting, string>> = {
  standard: `
    postgres_query postgres_execute sqlite_query sqlite_execute odbc_query mssql_exec adbc_scan query
    json_execute_serialized_sql json_serialize_sql json_serialize_plan sql_auto_complete`,
  "backslash-and-quote": "mysql_query mysql_execute snowflake_query ch_scan",
  backslash: "bigquery_query bigquery_execute",
  name: "query_table",
};

const FILE_FUNCTIONS = new Set(
  words(`
    glob sniff_csv parquet_metadata parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_schema
    parquet_bloom_probe iceberg_metadata iceberg_snapshots delta_list_files ducklake_add_data_files
    st_read st_read_meta st_readosm st_readshp shapefile_meta http_get http_post`),
);

/** Scans that read what DuckDB holds itself. */
const SCANS_WITHOUT_FILES = new Set(["arrow_scan", "arrow_scan_dumb", "seq_scan"]);

/** DuckDB's SQL, as far as the template compiler must know it. */
export const duckdbDialect: Dialect = {
  placeholder: (n) => `$${n}`,
  nestedComments: true,
  dollarQuotes: true,
  escapePrefixes: new Set(["e"]),
  literalTypes: new Set(words(LITERAL_TYPES)),
  sqlFunctions: new Map(
    (["standard", "backslash-and-quote", "backslash", "name"] as const).flatMap((quoting) =>
      words(SQL_FUNCTIONS[quoting]).map((name): [string, RemoteQuoting] => [name, quoting]),
    ),
  ),
  readsFiles: (name) =>
    name.startsWith("read_") ||
    FILE_FUNCTIONS.has(name) ||
    (/_(scan|scan_pushdown|attach)$/.test(name) && !SCANS_WITHOUT_FILES.has(name)),
};

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
