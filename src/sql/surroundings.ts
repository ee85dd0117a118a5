import type { Compilation } from "./compilation.ts";
import type { RemoteQuoting } from "./dialect.ts";

/** The innermost function around this place that takes SQL for somebody else, unless `sql_literal` quotes for it. */
export function remoteQuoting(compilation: Compilation): RemoteQuoting | undefined {
  for (let i = compilation.calls.length - 1; i >= 0; i -= 1) {
    const name = compilation.calls[i]?.name ?? "";
    if (name === "sql_literal") return undefined;
    const quoting = compilation.dialect.sqlFunctions.get(name);
    if (quoting !== undefined) return quoting;
  }
  return undefined;
}

const FILE_STATEMENTS = new Set(["COPY", "ATTACH", "EXPORT", "IMPORT", "INSTALL", "LOAD"]);
const SYNTAX_WITH_FROM = new Set(["extract", "trim", "substring", "overlay", "position"]);

/** True where a literal or value names a file or an address. */
export function choosesFile(compilation: Compilation): boolean {
  const { seen, calls, dialect } = compilation;
  const last = seen.at(-1)?.text ?? "";
  if (FILE_STATEMENTS.has(seen[0]?.text ?? "")) return true;
  const isOption = ["=", ">"].includes(last);
  if (!isOption && calls.some((call) => dialect.readsFiles(call.name))) return true;
  if (last === "JOIN") return true;
  if (last !== "FROM" || seen.at(-2)?.text === "DISTINCT") return false;
  return !SYNTAX_WITH_FROM.has(calls.at(-1)?.name ?? "");
}
