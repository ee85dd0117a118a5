import { quoteLiteral } from "../../../sql/quote.ts";
import { type ConnectionType, view } from "./connection-type.ts";

/** Parquet files (a path may hold `*`) as a view with the connection's name. */
export const parquet: ConnectionType = {
  type: "parquet",
  options: ["path"],
  required: [["path"]],
  expand: ({ path = "" }, context) => view(context, `read_parquet(${quoteLiteral(path)})`),
};
