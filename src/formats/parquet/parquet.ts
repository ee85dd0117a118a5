import type { FileFormat } from "../format.ts";

/** A Parquet file, written by the engine. */
export const parquet: FileFormat = {
  kind: "file",
  name: "parquet",
  // The second is unofficial, from before the first was registered in 2024.
  mediaTypes: ["application/vnd.apache.parquet", "application/x-parquet"],
  contentType: "application/vnd.apache.parquet",
  // Only Arrow supports `codec`. DuckDB's default is Snappy, which every reader supports.
  codecs: [],
  file: "parquet",
};
