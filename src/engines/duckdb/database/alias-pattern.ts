/** Finds the name of a database in SQL. */
export function aliasPattern(alias: string): RegExp {
  return new RegExp(`(?<![\\w$])${alias.replace(/[^\w\s]/g, "\\$&")}(?![\\w$])`, "i");
}
