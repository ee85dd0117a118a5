import { calledFunctions, executedPart, tokensOf } from "../../../sql/statement-words.ts";
import type { Token } from "../../../sql/token.ts";
import { duckdbDialect } from "../dialect.ts";
import { mysqlProblem } from "./mysql-rows.ts";
import { postgresProblem } from "./postgres-rows.ts";

/** A statement that calls `postgres_execute` or `mysql_execute`, and does nothing else. */
export interface ServerCall {
  readonly kind: "call";
  readonly server: Server;
  /** A query for its arguments as text: the database, the SQL that the server runs, and the options. */
  readonly argumentsSql: string;
  readonly at: number;
}

type Server = "postgres" | "mysql";

/** A statement that calls one of the functions for each row of a query, or several of them. */
export interface UncountableCall {
  readonly kind: "uncountable";
  readonly problem: string;
  readonly at: number;
}

const SERVERS: ReadonlyMap<string, Server> = new Map([
  ["POSTGRES_EXECUTE", "postgres"],
  ["MYSQL_EXECUTE", "mysql"],
]);
const MAY_CALL = /(?:postgres|mysql)_execute/i;
const BEFORE_CALL: ReadonlySet<string> = new Set(["CALL", "FROM", "SELECT * FROM"]);

/** The call in a statement. Undefined if it calls neither function. */
export function serverCallIn(sql: string): ServerCall | UncountableCall | undefined {
  // Most statements call neither, and tokenizing is slow.
  if (!MAY_CALL.test(sql)) return undefined;
  const tokens = tokensOf(sql, duckdbDialect);
  const called = calledFunctions(executedPart(tokens)).find(({ text }) => SERVERS.has(text));
  const server = SERVERS.get(called?.text ?? "");
  if (called === undefined || server === undefined) return undefined;
  const { at } = called;
  const index = tokens.indexOf(called);
  const before = tokens.slice(0, index).map(({ text }) => text);
  const ends = BEFORE_CALL.has(before.join(" ")) ? separators(tokens.slice(index + 1)) : [];
  if (ends.length === 0 || ends.at(-1) !== tokens.at(-1)) {
    const name = called.text.toLowerCase();
    const problem = `rows_affected cannot count what ${name} changes here; make the call a statement of its own: CALL ${name}('database', 'SQL')`;
    return { kind: "uncountable", problem, at };
  }
  const columns = ends.slice(1).map((end, position) => {
    const argument = sql.slice((ends[position]?.at ?? 0) + 1, end.at).replace(OPTION_NAME, "");
    return `CAST((${argument}\n) AS VARCHAR)`;
  });
  return { kind: "call", server, argumentsSql: `SELECT ${columns.join(", ")}`, at };
}

const OPTION_NAME = /^\s*\w+\s*(?::=|=>)/;

/** The parenthesis that opens a list of arguments, the commas between these, and the parenthesis that closes it. */
function separators(tokens: readonly Token[]): readonly Token[] {
  const found: Token[] = [];
  let depth = 0;
  for (const token of tokens) {
    if (token.kind !== "symbol") continue;
    if ("([{".includes(token.text)) depth++;
    if (depth === 1 && "(,)".includes(token.text)) found.push(token);
    if (")]}".includes(token.text) && --depth === 0) break;
  }
  return found;
}

/** Why the rows that a call changes cannot be counted. Undefined if they can. */
export function callProblem(server: Server, [, sql, ...options]: readonly (string | null)[]): string | undefined {
  if (sql === null || sql === undefined) return undefined;
  return server === "postgres" ? postgresProblem(sql, (options[0] ?? "true") !== "true") : mysqlProblem(sql);
}
