import { quoteLiteral } from "../../../sql/quote.ts";
import { type ConnectionType, settingsFrom, view } from "./connection-type.ts";

/** CSV files as a view with the connection's name. */
export const csv: ConnectionType = {
  type: "csv",
  options: ["path", "delimiter", "header"],
  required: [["path"]],
  expand(options, context) {
    const { path = "" } = options;
    const settings = settingsFrom(options, { delimiter: "delim", header: "header" }).map((setting) =>
      setting.join(" = "),
    );
    return view(context, `read_csv(${[quoteLiteral(path), ...settings].join(", ")})`);
  },
};
