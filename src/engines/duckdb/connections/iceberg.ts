import { quoteLiteral } from "../../../sql/quote.ts";
import { type ConnectionType, extension, statements, view } from "./connection-type.ts";

/** An Iceberg table as a view with the connection's name. */
export const iceberg: ConnectionType = {
  type: "iceberg",
  options: ["path"],
  required: [["path"]],
  expand: ({ path = "" }, context) =>
    statements(extension("iceberg"), view(context, `iceberg_scan(${quoteLiteral(path)})`)),
};
