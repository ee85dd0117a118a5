import { attach, type ConnectionType, settingsFrom } from "./connection-type.ts";

/** A DuckDB file, attached. */
export const duckdbFile: ConnectionType = {
  type: "duckdb",
  databaseFile: "path",
  options: ["path", "encryption-key"],
  required: [["path"]],
  expand: (options, context) =>
    attach(context, {
      address: options["path"] ?? "",
      settings: [["TYPE", "duckdb"], ...settingsFrom(options, { "encryption-key": "ENCRYPTION_KEY" })],
    }),
};
