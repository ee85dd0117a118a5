/** Unusual values of DuckDB settings that change the meaning of SQL. */
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
 * The settings with which cache tests run: none, or those in EIDER_TEST_SETTINGS (`all`, or names separated by commas).
 */
export const testSettings: ReadonlyMap<string, string> = new Map(
  Object.entries(ODD_SETTINGS).filter(([name]) => {
    const wanted = (process.env["EIDER_TEST_SETTINGS"] ?? "").split(",");
    return wanted.includes("all") || wanted.includes(name);
  }),
);

/** Adds these settings to a configuration file, unless it has a `duckdb` block. */
export function withTestSettings(main: string): string {
  if (testSettings.size === 0 || /^duckdb:/m.test(main)) return main;
  return `${main}\nduckdb: { ${settingsYaml()} }\n`;
}

/** The settings as YAML in flow style, without braces. */
export function settingsYaml(): string {
  return [...testSettings].map(([name, value]) => `${name}: "${value}"`).join(", ");
}
