import type { FunctionRole, RemoteQuoting } from "../../../sql/function-role.ts";

/** Table functions whose rows come from their arguments alone: these may be client values. */
const ROWS_FROM_ARGUMENTS = new Set(
  words("range generate_series unnest repeat repeat_row json_each json_tree st_generatepoints"),
);

/** Functions that pass SQL to another database, by how that database reads string literals. */
const SQL_ELSEWHERE: Readonly<Record<RemoteQuoting, string>> = {
  standard: `
    postgres_query postgres_execute sqlite_query sqlite_execute odbc_query mssql_exec adbc_scan quack_query
    quack_query_by_name`,
  "backslash-and-quote": `
    mysql_query mysql_execute mysql_debug_execution_plan mysql_explain_federated snowflake_query ch_scan`,
  backslash: "bigquery_query bigquery_execute",
};

/** Functions whose SQL argument DuckDB itself parses. */
const SQL_HERE = new Set(words("query json_execute_serialized_sql json_serialize_sql json_serialize_plan"));

/** Functions whose argument is the name of something. That of a coordinate system may be a file name. */
const NAMING = new Set(
  words(`
    query_table nextval currval current_setting getvariable columns histogram histogram_values pragma_table_info
    pragma_storage_info pragma_show pragma_metadata_info duckdb_table_sample which_secret st_transform`),
);

const FILES = new Set(
  words(`
    glob sniff_csv parquet_metadata parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_schema
    parquet_bloom_probe iceberg_metadata iceberg_snapshots iceberg_column_stats iceberg_partition_stats
    iceberg_load_table_response iceberg_to_ducklake delta_list_files ducklake_add_data_files
    st_read st_read_meta st_readosm st_readshp shapefile_meta http_get http_post write_blob copy_dir`),
);

/** Scans that read what DuckDB itself holds. */
const SCANS_WITHOUT_FILES = new Set(["arrow_scan", "arrow_scan_dumb", "seq_scan"]);

/** Other table functions of DuckDB and of its extensions: none has a use for client values. */
const OTHER_TABLE_FUNCTIONS = new Set(
  words(`
    arrow_scan arrow_scan_dumb check_peg_parser checkpoint dbgen delta_domain_metadata delta_filter_pushdown_log
    delta_filter_pushdown_log_tpcds delta_get_transaction_version delta_set_transaction_version disable_logging
    disable_peg_parser disable_profiling dsdgen ducklake_cleanup_old_files ducklake_commit ducklake_current_snapshot
    ducklake_delete_orphaned_files ducklake_expire_snapshots ducklake_flush_inlined_data
    ducklake_last_committed_snapshot ducklake_list_files ducklake_merge_adjacent_files ducklake_options
    ducklake_rewrite_data_files ducklake_set_commit_message ducklake_set_option ducklake_settings ducklake_snapshots
    ducklake_table_changes ducklake_table_deletions ducklake_table_info ducklake_table_insertions enable_logging
    enable_peg_parser enable_profiling force_checkpoint icu_calendar_names lance_fts lance_hybrid_search
    lance_vector_search load_aws_credentials mysql_clear_cache pg_clear_cache pg_timezone_names
    postgres_configure_pool pragma_collations pragma_database_size pragma_hnsw_index_info pragma_platform
    pragma_rtree_index_info pragma_user_agent pragma_version quack_active_connections quack_check_token
    quack_clear_cache quack_identify quack_nop_authorization quack_serve quack_server_list quack_stop quack_uri_parser
    iceberg_schema_properties iceberg_table_properties iceberg_verify_equality_deletes remove_iceberg_schema_properties
    remove_iceberg_table_properties set_iceberg_schema_properties set_iceberg_table_properties
    get_delta_test_expression parse_delta_filter_logline
    rtree_index_dump seq_scan sql_auto_complete st_drivers summary test_all_types test_vector_types tpcds_answers
    tpcds_queries tpch_answers tpch_queries truncate_duckdb_logs unity_catalog_checkpoint_table
    unity_catalog_force_checkpoint_table vss_join vss_match whoami`),
);

const ROLES: ReadonlyMap<string, FunctionRole> = new Map([
  ...[...OTHER_TABLE_FUNCTIONS].map((name): [string, FunctionRole] => [name, { kind: "unknown" }]),
  ...[...FILES].map((name): [string, FunctionRole] => [name, { kind: "file" }]),
  ...[...NAMING].map((name): [string, FunctionRole] => [name, { kind: "name" }]),
  ...[...SQL_HERE].map((name): [string, FunctionRole] => [
    name,
    { kind: "sql", quoting: "standard", runsIn: "this-database" },
  ]),
  ...(["standard", "backslash-and-quote", "backslash"] as const).flatMap((quoting) =>
    words(SQL_ELSEWHERE[quoting]).map((name): [string, FunctionRole] => [
      name,
      { kind: "sql", quoting, runsIn: "another-database" },
    ]),
  ),
]);

/** What a function (lower case) does with its arguments, judging by its name. */
export function roleByName(name: string): FunctionRole | undefined {
  const role = ROLES.get(name);
  if (role !== undefined) return role;
  if (name.startsWith("duckdb_") || name.startsWith("__")) return { kind: "unknown" };
  const readsFiles =
    name.startsWith("read_") || (/_(scan|scan_pushdown|attach)$/.test(name) && !SCANS_WITHOUT_FILES.has(name));
  return readsFiles ? { kind: "file" } : undefined;
}

export function makesRowsFromArguments(name: string): boolean {
  return ROWS_FROM_ARGUMENTS.has(name);
}

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
