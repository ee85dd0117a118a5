import { attach, type ConnectionType } from "./connection-type.ts";

/** A DuckDB file, attached. */
export const duckdbFile: ConnectionType = {
  type: "duckdb",
  options: ["path"],
  required: [["path"]],
  expand: ({ path = "" }, context) => attach(context, { address: path, settings: [["TYPE", "duckdb"]] }),
};
