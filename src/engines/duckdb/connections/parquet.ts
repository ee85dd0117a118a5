import { type ConnectionType, fileView } from "./connection-type.ts";

const NAMES = {
  "union-by-name": "union_by_name",
  filename: "filename",
  "hive-partitioning": "hive_partitioning",
  "binary-as-string": "binary_as_string",
};

/** Parquet files (a path may hold `*`) as a view with the connection's name. */
export const parquet: ConnectionType = {
  type: "parquet",
  options: ["path", ...Object.keys(NAMES)],
  required: [["path"]],
  values: {
    "union-by-name": "boolean",
    filename: "boolean",
    "hive-partitioning": "boolean",
    "binary-as-string": "boolean",
  },
  expand: (options, context) => fileView(options, context, { reader: "read_parquet", names: NAMES }),
};
