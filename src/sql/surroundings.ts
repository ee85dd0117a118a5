import type { Compilation } from "./compilation.ts";
import type { ValuePosition } from "./value-place.ts";

const PLAIN: ValuePosition = { kind: "plain" };
const FILE: ValuePosition = { kind: "file" };
const SYNTAX_WITH_FROM = new Set(["extract", "trim", "substring", "overlay", "position"]);

/** What a value here would do. */
export function positionOf(compilation: Compilation): ValuePosition {
  const { seen, calls } = compilation;
  const statement = seen[0]?.text ?? "";
  if (compilation.dialect.fileVerbs.has(statement) || compilation.isCopyTarget) return FILE;
  // The prepared statement is unknown here.
  if (statement === "EXECUTE") return { kind: "unknown", function: "EXECUTE" };
  const position = positionInCalls(compilation);
  if (position.kind !== "plain") return position;
  const last = seen.at(-1)?.text ?? "";
  if (last === "JOIN") return FILE;
  if (last !== "FROM" || seen.at(-2)?.text === "DISTINCT") return PLAIN;
  return SYNTAX_WITH_FROM.has(calls.at(-1)?.name ?? "") ? PLAIN : FILE;
}

/** What a value here would do as an argument of the functions around it. The strictest of them counts. */
function positionInCalls({ calls, seen, dialect }: Compilation): ValuePosition {
  let position: ValuePosition = PLAIN;
  let wrapped = false;
  for (const [index, call] of [...calls.entries()].reverse()) {
    const { name } = call;
    if (name === "sql_literal") wrapped = true;
    const role = dialect.roleOf(name);
    switch (role?.kind) {
      case undefined:
        break;
      case "file":
        // `read_csv('x.csv', skip = 1)`
        if (index < calls.length - 1 || !["=", ">"].includes(seen.at(-1)?.text ?? "")) return FILE;
        position = { kind: "option", function: name };
        break;
      case "name":
      case "unknown":
        position = { kind: role.kind, function: name };
        break;
      case "sql":
        if (position.kind === "plain") {
          position = { kind: "sql", function: name, quoting: role.quoting, runsIn: role.runsIn, wrapped };
        }
        break;
    }
  }
  return position;
}

/** Whether SQL requires a literal here, as after FROM. Function arguments accept parameters. */
export function requiresLiteral(position: ValuePosition, { calls, dialect }: Compilation): boolean {
  return position.kind === "file" && !calls.some(({ name }) => dialect.roleOf(name)?.kind === "file");
}
