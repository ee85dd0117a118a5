import { attach, type ConnectionType, extension, statements } from "./connection-type.ts";

/** An SQLite file, attached. */
export const sqlite: ConnectionType = {
  type: "sqlite",
  databaseFile: "path",
  options: ["path"],
  required: [["path"]],
  expand: ({ path = "" }, context) =>
    statements(extension("sqlite"), attach(context, { address: path, settings: [["TYPE", "sqlite"]] })),
};
