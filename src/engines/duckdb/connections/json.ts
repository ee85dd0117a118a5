import { type ConnectionType, fileView } from "./connection-type.ts";

const NAMES = {
  format: "format",
  "date-format": "dateformat",
  "timestamp-format": "timestampformat",
  "maximum-object-size": "maximum_object_size",
  compression: "compression",
  "ignore-errors": "ignore_errors",
  "union-by-name": "union_by_name",
  filename: "filename",
  "hive-partitioning": "hive_partitioning",
};

/** JSON files (arrays of objects, or one object per line) as a view with the connection's name. */
export const json: ConnectionType = {
  type: "json",
  options: ["path", "columns", ...Object.keys(NAMES)],
  required: [["path"]],
  values: {
    columns: "map",
    format: ["auto", "array", "newline_delimited", "unstructured"],
    "maximum-object-size": "integer",
    "ignore-errors": "boolean",
    "union-by-name": "boolean",
    filename: "boolean",
    "hive-partitioning": "boolean",
  },
  expand: (options, context) => fileView(options, context, { reader: "read_json", names: NAMES }),
};
