import type { FileFormat } from "../format.ts";

/** A Parquet file, written by the engine. decisions.md 5. */
export const parquet: FileFormat = {
  kind: "file",
  name: "parquet",
  // The second is what people wrote before the first was registered in 2024.
  mediaTypes: ["application/vnd.apache.parquet", "application/x-parquet"],
  contentType: "application/vnd.apache.parquet",
  // Spec 4.5 has `codec` for Arrow only; the engine's default is Snappy, which every reader knows.
  codecs: [],
  file: "parquet",
};
