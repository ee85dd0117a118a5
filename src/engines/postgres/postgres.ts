import type { RemoteEngineType } from "../remote-engine.ts";
import { postgresDialect } from "./dialect.ts";
import { openPostgres } from "./open-postgres.ts";
import { optionRules } from "./options.ts";

/** `engine: postgres`: the SQL of endpoints runs in Postgres itself. */
export const postgresEngine: RemoteEngineType = {
  ...optionRules,
  name: "postgres",
  dialect: postgresDialect,
  open: openPostgres,
};
