import type { Compilation } from "./compilation.ts";
import type { RemoteQuoting } from "./dialect.ts";

/** The other side that the SQL at this place is for. */
export interface Remote {
  readonly quoting: RemoteQuoting;
  /** `sql_literal` stands between, and quotes for it. */
  readonly wrapped: boolean;
}

/** The innermost function around this place that takes SQL for somebody else. */
export function remoteAround({ calls, dialect }: Compilation): Remote | undefined {
  let wrapped = false;
  for (const { name } of calls.toReversed()) {
    if (name === "sql_literal") wrapped = true;
    const quoting = dialect.sqlFunctions.get(name);
    if (quoting !== undefined) return { quoting, wrapped };
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
