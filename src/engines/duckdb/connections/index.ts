import { azureSecret } from "./azure-secret.ts";
import type { ConnectionType } from "./connection-type.ts";
import { csv } from "./csv.ts";
import { delta } from "./delta.ts";
import { duckdbFile } from "./duckdb.ts";
import { ducklake } from "./ducklake.ts";
import { excel } from "./excel.ts";
import { gcsSecret } from "./gcs-secret.ts";
import { httpSecret } from "./http-secret.ts";
import { iceberg } from "./iceberg.ts";
import { icebergCatalog } from "./iceberg-catalog.ts";
import { json } from "./json.ts";
import { motherduck } from "./motherduck.ts";
import { mysql } from "./mysql.ts";
import { parquet } from "./parquet.ts";
import { postgres } from "./postgres.ts";
import { s3Secret } from "./s3-secret.ts";
import { sqlite } from "./sqlite.ts";

/** The types of connections. To add one, write its file and list it here. */
export const connectionTypes: readonly ConnectionType[] = [
  duckdbFile,
  sqlite,
  postgres,
  mysql,
  parquet,
  csv,
  json,
  excel,
  ducklake,
  iceberg,
  icebergCatalog,
  delta,
  motherduck,
  s3Secret,
  gcsSecret,
  azureSecret,
  httpSecret,
];
