/** Settings of DuckDB that change what SQL means, each in an unusual way. */
export const ODD_SETTINGS: Readonly<Record<string, string>> = {
  default_order: "DESC",
  default_null_order: "NULLS_FIRST",
  default_collation: "NOCASE.NOACCENT",
  preserve_insertion_order: "false",
  old_implicit_casting: "true",
  integer_division: "true",
  TimeZone: "Asia/Kathmandu",
};

/**
 * The settings under which tests of caches run: none, or those that EIDER_TEST_SETTINGS names (`all`, or names with commas
 * between them).
 */
export const testSettings: ReadonlyMap<string, string> = new Map(
  Object.entries(ODD_SETTINGS).filter(([name]) => {
    const wanted = (process.env["EIDER_TEST_SETTINGS"] ?? "").split(",");
    return wanted.includes("all") || wanted.includes(name);
  }),
);

/** The same for a main file that does not set any itself. */
export function withTestSettings(main: string): string {
  if (testSettings.size === 0 || /^duckdb:/m.test(main)) return main;
  return `${main}\nduckdb: { ${settingsYaml()} }\n`;
}

/** In flow style. */
export function settingsYaml(): string {
  return [...testSettings].map(([name, value]) => `${name}: "${value}"`).join(", ");
}
