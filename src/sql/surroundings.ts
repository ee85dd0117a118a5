import type { Compilation } from "./compilation.ts";
import type { ValuePlace } from "./value-place.ts";

const PLAIN: ValuePlace = { kind: "plain" };
const FILE: ValuePlace = { kind: "file" };
const FILE_STATEMENTS = new Set(["ATTACH", "EXPORT", "IMPORT", "INSTALL", "LOAD"]);
const SYNTAX_WITH_FROM = new Set(["extract", "trim", "substring", "overlay", "position"]);

/** What a value at this position would do. */
export function placeOf(compilation: Compilation): ValuePlace {
  const { seen, calls } = compilation;
  const statement = seen[0]?.text ?? "";
  if (FILE_STATEMENTS.has(statement) || compilation.copyTarget) return FILE;
  // The prepared statement is unknown here.
  if (statement === "EXECUTE") return { kind: "unknown", function: "EXECUTE" };
  const place = insideCalls(compilation);
  if (place.kind !== "plain") return place;
  const last = seen.at(-1)?.text ?? "";
  if (last === "JOIN") return FILE;
  if (last !== "FROM" || seen.at(-2)?.text === "DISTINCT") return PLAIN;
  return SYNTAX_WITH_FROM.has(calls.at(-1)?.name ?? "") ? PLAIN : FILE;
}

/** The strictest of what the functions around this position do. */
function insideCalls({ calls, seen, dialect }: Compilation): ValuePlace {
  let place: ValuePlace = PLAIN;
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
        place = { kind: "option", function: name };
        break;
      case "name":
      case "unknown":
        place = { kind: role.kind, function: name };
        break;
      case "sql":
        if (place.kind === "plain") {
          place = { kind: "sql", function: name, quoting: role.quoting, runsIn: role.runsIn, wrapped };
        }
        break;
    }
  }
  return place;
}

/** Whether SQL requires a literal here, as after FROM. Function arguments accept parameters. */
export function wantsLiteral(place: ValuePlace, { calls, dialect }: Compilation): boolean {
  return place.kind === "file" && !calls.some(({ name }) => dialect.roleOf(name)?.kind === "file");
}
