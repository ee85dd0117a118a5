/**
 * What a function does with its arguments besides computing with them. A client value in such an argument could choose what
 * is read or run.
 */
export type FunctionRole =
  /** They name files or addresses. */
  | { readonly kind: "file" }
  /** They name a table, a column, a sequence, a setting or a variable. */
  | { readonly kind: "name" }
  /** They hold SQL that is run, by this database or by another one. */
  | { readonly kind: "sql"; readonly quoting: RemoteQuoting; readonly runsIn: "this-database" | "another-database" }
  /** Its effect is not known: a table function, or a function from an unknown extension. */
  | { readonly kind: "unknown" };

/** How the database that runs the SQL quotes string literals. */
export type RemoteQuoting = "standard" | "backslash-and-quote" | "backslash";

/** The least strict first. */
const SEVERITY: readonly FunctionRole["kind"][] = ["sql", "unknown", "name", "file"];

/** The stricter of two roles. */
export function stricter(a: FunctionRole | undefined, b: FunctionRole | undefined): FunctionRole | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.kind === "sql" && b.kind === "sql") {
    // No quoting is safe for both databases.
    if (a.quoting !== b.quoting) return { kind: "unknown" };
    return a.runsIn === "this-database" ? a : b;
  }
  return SEVERITY.indexOf(a.kind) < SEVERITY.indexOf(b.kind) ? b : a;
}
