import { attach, type ConnectionType, extension, statements } from "./connection-type.ts";

/** An SQLite file, attached. */
export const sqlite: ConnectionType = {
  type: "sqlite",
  options: ["path"],
  required: [["path"]],
  expand: ({ path = "" }, context) =>
    statements(
      extension("sqlite"),
      // Several threads would use a connection each, and see different states of a file that changes meanwhile.
      context.readOnly ? [] : ["SET GLOBAL sqlite_disable_multithreaded_scans = true"],
      attach(context, { address: path, settings: [["TYPE", "sqlite"]] }),
    ),
};
