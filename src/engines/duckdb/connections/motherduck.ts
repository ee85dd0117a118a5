import { quoteLiteral } from "../../../sql/quote.ts";
import { type ConnectionType, extension, statements } from "./connection-type.ts";

/** A MotherDuck database, attached under its own name: MotherDuck allows no other. The token is in the environment. */
export const motherduck: ConnectionType = {
  type: "motherduck",
  options: ["database"],
  required: [["database"]],
  expand: ({ database = "" }) =>
    statements(extension("motherduck"), `ATTACH IF NOT EXISTS ${quoteLiteral(`md:${database}`)}`),
};
