import { expect, test } from "vitest";
import { withScope } from "./session-settings.ts";

test.each([
  ["SET default_order = 'DESC'", "SET SESSION default_order = 'DESC'"],
  ["SET GLOBAL default_order = 'DESC'", "SET SESSION default_order = 'DESC'"],
  ["SET mysql_time_as_time = true", "SET GLOBAL mysql_time_as_time = true"],
  [
    "-- why\n/* and how */ SET pg_array_as_varchar = true",
    "-- why\n/* and how */ SET GLOBAL pg_array_as_varchar = true",
  ],
  ['set "sqlite_all_varchar" to true', 'set GLOBAL "sqlite_all_varchar" to true'],
  ["SET SESSION mysql_time_as_time = true", "SET SESSION mysql_time_as_time = true"],
  ["SET TimeZone = 'UTC'", "SET TimeZone = 'UTC'"],
  ["SELECT 'SET pg_x = 1'", "SELECT 'SET pg_x = 1'"],
])("the scope of %s in an init", (written, run) => {
  expect(withScope(written)).toBe(run);
});
