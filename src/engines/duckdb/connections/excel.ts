import { type ConnectionType, extension, fileView, statements } from "./connection-type.ts";

const NAMES = {
  sheet: "sheet",
  range: "range",
  header: "header",
  "all-varchar": "all_varchar",
  "ignore-errors": "ignore_errors",
  "empty-as-varchar": "empty_as_varchar",
  "stop-at-empty": "stop_at_empty",
};

/** A sheet of an Excel file (`.xlsx`) as a view with the connection's name. */
export const excel: ConnectionType = {
  type: "excel",
  options: ["path", ...Object.keys(NAMES)],
  required: [["path"]],
  values: {
    header: "boolean",
    "all-varchar": "boolean",
    "ignore-errors": "boolean",
    "empty-as-varchar": "boolean",
    "stop-at-empty": "boolean",
  },
  expand: (options, context) =>
    statements(extension("excel"), fileView(options, context, { reader: "read_xlsx", names: NAMES })),
};
