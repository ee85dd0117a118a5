import { statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runSql } from "./run-page.ts";

/** The rows on the pages. */
export const ORDERS = "SELECT * FROM (VALUES (1, 12.5::DOUBLE, 2023), (2, 3::DOUBLE, 2024)) AS t(id, amount, year)";

/** Years of orders: each is a file of its own, with one order. */
const FILES = [
  { id: 1, year: 2023 },
  { id: 2, year: 2024 },
];

export interface TableFolder {
  /** Where the files are written. */
  readonly folder: string;
  /** The place that the table's own files name, if they are moved there. */
  readonly location?: string;
}

async function writeData(folder: string, columns: string, options = ""): Promise<void> {
  await mkdir(folder, { recursive: true });
  const copies = FILES.map(
    ({ year }) =>
      `COPY (SELECT ${columns} FROM (${ORDERS}) WHERE year = ${year}) TO '${join(folder, `${year}.parquet`)}' (FORMAT parquet${options})`,
  );
  await runSql(copies);
}

/** A Delta table with two files, partitioned by year. Its log has the smallest and largest id of each. */
export async function writeDeltaTable({ folder }: TableFolder): Promise<void> {
  await writeData(folder, "id, amount");
  const fields = { id: "integer", amount: "double", year: "integer" };
  const schema = Object.entries(fields).map(([name, type]) => ({ name, type, nullable: true, metadata: {} }));
  const log = [
    { protocol: { minReaderVersion: 1, minWriterVersion: 2 } },
    {
      metaData: {
        id: "0190a1b2-0000-7000-8000-000000000001",
        format: { provider: "parquet", options: {} },
        schemaString: JSON.stringify({ type: "struct", fields: schema }),
        partitionColumns: ["year"],
        configuration: {},
      },
    },
    ...FILES.map(({ id, year }) => ({
      add: {
        path: `${year}.parquet`,
        partitionValues: { year: String(year) },
        size: statSync(join(folder, `${year}.parquet`)).size,
        modificationTime: 0,
        dataChange: true,
        stats: JSON.stringify({ numRecords: 1, minValues: { id }, maxValues: { id }, nullCount: { id: 0 } }),
      },
    })),
  ];
  await mkdir(join(folder, "_delta_log"));
  await writeFile(
    join(folder, "_delta_log", `${"0".repeat(20)}.json`),
    log.map((entry) => JSON.stringify(entry)).join("\n"),
  );
}

const SNAPSHOT = 7;
const SPEC = [{ name: "year", transform: "identity", "source-id": 3, "field-id": 1000 }];

/** An Iceberg table with two files, partitioned by year. Its manifest has the smallest and largest id of each. */
export async function writeIcebergTable({ folder, location = folder }: TableFolder): Promise<void> {
  const metadata = join(folder, "metadata");
  await writeData(join(folder, "data"), "*", ", FIELD_IDS {id: 1, amount: 2, year: 3}");
  await mkdir(metadata);
  const entries = FILES.map(({ id, year }) => {
    const bound = `MAP {1: '\\x0${id}\\x00\\x00\\x00'::BLOB}`;
    return `SELECT 1::INT AS status, ${SNAPSHOT}::BIGINT AS snapshot_id, 1::BIGINT AS sequence_number, 1::BIGINT AS file_sequence_number, {
      content: 0::INT, file_path: '${location}/data/${year}.parquet', file_format: 'PARQUET', partition: {year: ${year}::INT},
      record_count: 1::BIGINT, file_size_in_bytes: ${statSync(join(folder, "data", `${year}.parquet`)).size}::BIGINT,
      lower_bounds: ${bound}, upper_bounds: ${bound}} AS data_file`;
  });
  const manifest = join(metadata, "manifest.avro");
  await runSql(
    [
      "LOAD avro",
      `COPY (${entries.join(" UNION ALL ")}) TO '${manifest}' (FORMAT avro, ROOT_NAME 'manifest_entry', FIELD_IDS {
        status: 0, snapshot_id: 1, sequence_number: 3, file_sequence_number: 4, data_file: {__duckdb_field_id: 2,
        content: 134, file_path: 100, file_format: 101, partition: {__duckdb_field_id: 102, year: 1000}, record_count: 103,
        file_size_in_bytes: 104, lower_bounds: {__duckdb_field_id: 125, key: 126, value: 127},
        upper_bounds: {__duckdb_field_id: 128, key: 129, value: 130}}})`,
    ],
    ["avro"],
  );
  await runSql(
    [
      "LOAD avro",
      `COPY (SELECT '${location}/metadata/manifest.avro' AS manifest_path, ${statSync(manifest).size}::BIGINT AS manifest_length,
        0::INT AS partition_spec_id, 0::INT AS content, 1::BIGINT AS sequence_number, 1::BIGINT AS min_sequence_number,
        ${SNAPSHOT}::BIGINT AS added_snapshot_id, 2::INT AS added_files_count, 0::INT AS existing_files_count,
        0::INT AS deleted_files_count, 2::BIGINT AS added_rows_count, 0::BIGINT AS existing_rows_count, 0::BIGINT AS deleted_rows_count
      ) TO '${join(metadata, "snapshot.avro")}' (FORMAT avro, ROOT_NAME 'manifest_file', FIELD_IDS {
        manifest_path: 500, manifest_length: 501, partition_spec_id: 502, content: 517, sequence_number: 515, min_sequence_number: 516,
        added_snapshot_id: 503, added_files_count: 504, existing_files_count: 505, deleted_files_count: 506, added_rows_count: 512,
        existing_rows_count: 513, deleted_rows_count: 514})`,
    ],
    ["avro"],
  );
  await writeFile(join(metadata, "v1.metadata.json"), JSON.stringify(icebergMetadata(location)));
  await writeFile(join(metadata, "version-hint.text"), "1");
}

function icebergMetadata(location: string): object {
  const types = { id: "int", amount: "double", year: "int" };
  const fields = Object.entries(types).map(([name, type], index) => ({ id: index + 1, name, required: false, type }));
  return {
    "format-version": 2,
    "table-uuid": "0190a1b2-0000-7000-8000-000000000001",
    location,
    "last-sequence-number": 1,
    "last-updated-ms": 0,
    "last-column-id": fields.length,
    "current-schema-id": 0,
    schemas: [{ type: "struct", "schema-id": 0, fields }],
    "default-spec-id": 0,
    "partition-specs": [{ "spec-id": 0, fields: SPEC }],
    "last-partition-id": 1000,
    "default-sort-order-id": 0,
    "sort-orders": [{ "order-id": 0, fields: [] }],
    "current-snapshot-id": SNAPSHOT,
    snapshots: [
      {
        "sequence-number": 1,
        "snapshot-id": SNAPSHOT,
        "timestamp-ms": 0,
        "manifest-list": `${location}/metadata/snapshot.avro`,
        summary: { operation: "append" },
        "schema-id": 0,
      },
    ],
  };
}
