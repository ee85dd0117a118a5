import { quoteLiteral } from "../../../sql/quote.ts";
import { type ConnectionType, view } from "./connection-type.ts";

/** JSON files (arrays of objects, or one object per line) as a view with the connection's name. */
export const json: ConnectionType = {
  type: "json",
  options: ["path"],
  required: [["path"]],
  expand: ({ path = "" }, context) => view(context, `read_json(${quoteLiteral(path)})`),
};
