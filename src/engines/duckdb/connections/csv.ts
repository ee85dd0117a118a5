import { type ConnectionType, fileView } from "./connection-type.ts";

const NAMES = {
  delimiter: "delim",
  header: "header",
  quote: "quote",
  escape: "escape",
  "null-string": "nullstr",
  skip: "skip",
  "date-format": "dateformat",
  "timestamp-format": "timestampformat",
  "decimal-separator": "decimal_separator",
  encoding: "encoding",
  compression: "compression",
  "all-varchar": "all_varchar",
  "auto-detect": "auto_detect",
  "ignore-errors": "ignore_errors",
  "union-by-name": "union_by_name",
  filename: "filename",
  "hive-partitioning": "hive_partitioning",
};

/** CSV files as a view with the connection's name. */
export const csv: ConnectionType = {
  type: "csv",
  options: ["path", "columns", ...Object.keys(NAMES)],
  required: [["path"]],
  values: {
    columns: "map",
    header: "boolean",
    skip: "integer",
    "all-varchar": "boolean",
    "auto-detect": "boolean",
    "ignore-errors": "boolean",
    "union-by-name": "boolean",
    filename: "boolean",
    "hive-partitioning": "boolean",
  },
  expand: (options, context) => fileView(options, context, { reader: "read_csv", names: NAMES }),
};
