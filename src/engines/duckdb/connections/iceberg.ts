import { type ConnectionType, extension, fileView, statements } from "./connection-type.ts";

const NAMES = {
  version: "version",
  "snapshot-id": "snapshot_from_id",
  "snapshot-time": "snapshot_from_timestamp",
  "allow-moved-paths": "allow_moved_paths",
};

/** An Iceberg table as a view with the connection's name. */
export const iceberg: ConnectionType = {
  type: "iceberg",
  options: ["path", ...Object.keys(NAMES)],
  required: [["path"]],
  values: { "snapshot-id": "integer", "allow-moved-paths": "boolean" },
  expand: (options, context) =>
    statements(extension("iceberg"), fileView(options, context, { reader: "iceberg_scan", names: NAMES })),
};
