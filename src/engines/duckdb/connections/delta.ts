import { type ConnectionType, extension, fileView, statements } from "./connection-type.ts";

/** A Delta table as a view with the connection's name. */
export const delta: ConnectionType = {
  type: "delta",
  options: ["path", "version"],
  required: [["path"]],
  values: { version: "integer" },
  expand: (options, context) =>
    statements(extension("delta"), fileView(options, context, { reader: "delta_scan", names: { version: "version" } })),
};
