/**
 * What a function does with its arguments, where it does more than compute from them. A client value in such a place could
 * choose what is read or run.
 */
export type FunctionRole =
  /** They name files or addresses. */
  | { readonly kind: "file" }
  /** They name a table, a column, a sequence, a setting or a variable. */
  | { readonly kind: "name" }
  /** They hold SQL that is run, by this database or by another one. */
  | { readonly kind: "sql"; readonly quoting: RemoteQuoting; readonly runsIn: "this-database" | "another-database" }
  /** Its effect is not known: a table function, or one of an unknown extension. */
  | { readonly kind: "unknown" };

/** How string literals are written in SQL for the other side. */
export type RemoteQuoting = "standard" | "backslash-and-quote" | "backslash";

const SEVERITY: readonly FunctionRole["kind"][] = ["sql", "unknown", "name", "file"];

/** The one of two roles that lets less through. */
export function stricter(a: FunctionRole | undefined, b: FunctionRole | undefined): FunctionRole | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.kind === "sql" && b.kind === "sql") {
    // Quoting for two sides at once is quoting for neither.
    if (a.quoting !== b.quoting) return { kind: "unknown" };
    return a.runsIn === "this-database" ? a : b;
  }
  return SEVERITY.indexOf(a.kind) < SEVERITY.indexOf(b.kind) ? b : a;
}
