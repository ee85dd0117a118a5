import { copiesIntoTable, verbOf } from "../../../sql/classify.ts";
import { tokensOf, topLevelWords } from "../../../sql/statement-words.ts";
import type { Token } from "../../../sql/token.ts";
import { duckdbDialect } from "../dialect.ts";

/** One of the statements in the SQL of a call. */
interface Part {
  readonly sql: string;
  /** The words outside parentheses. */
  readonly words: readonly string[];
}

const CHANGES_ROWS: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);
const ENDS_TRANSACTION = /^(?:COMMIT|END|ABORT|PREPARE TRANSACTION|ROLLBACK(?!.* TO\b))\b/;

/** Why Eider cannot count the rows that this SQL changes. Undefined if it can. */
export function postgresProblem(sql: string, isOutsideTransaction: boolean): string | undefined {
  const parts = partsOf(sql);
  if (!parts.some(changesRows)) return undefined;
  if (isOutsideTransaction) {
    return "rows_affected cannot count rows that change outside the transaction; leave out use_transaction := false";
  }
  const end = parts.find(({ words }) => ENDS_TRANSACTION.test(words.join(" ")));
  return (
    end &&
    `postgres_execute must not end the transaction (${end.words[0]}); remove it: Eider commits when all statements have run`
  );
}

/** The same SQL, which also keeps the number of rows that it changes. Undefined if it changes none. */
export function countingSql(sql: string): string | undefined {
  const parts = partsOf(sql);
  if (!parts.some(changesRows)) return undefined;
  // A line break, because a statement may end in a comment.
  return [START_COUNT, ...parts.map((part) => (changesRows(part) ? countingPart(part) : part.sql))].join("\n;\n");
}

const START_COUNT = "SET LOCAL eider.rows = 0";
export const KEPT_ROW_COUNT = "SELECT pg_catalog.current_setting('eider.rows') AS n";

/** Only PL/pgSQL shows how many rows a statement changed, without those of triggers and cascades. */
function countingPart({ sql }: Part): string {
  const body =
    `DECLARE n bigint; BEGIN EXECUTE ${dollarQuoted(sql)}; GET DIAGNOSTICS n = ROW_COUNT; ` +
    "PERFORM pg_catalog.set_config('eider.rows', (pg_catalog.current_setting('eider.rows')::bigint + n)::text, true); END";
  return `DO ${dollarQuoted(body)}`;
}

function dollarQuoted(text: string): string {
  let tag = "eider";
  while (text.includes(`$${tag}`)) tag += "_";
  return `$${tag}$${text}$${tag}$`;
}

/** The message of an error as if the SQL itself had run. */
export function originalMessage(message: string, { counting, sql }: { counting: string; sql: string }): string {
  return message.replace(counting, () => sql).replace(OWN_CONTEXT, "");
}

/** What Postgres adds to an error in PL/pgSQL, at the end of its message. */
const OWN_CONTEXT =
  /\n(?:CONTEXT: +)?(?:SQL statement "[\s\S]*"\n)?PL\/pgSQL function inline_code_block line \d+ at EXECUTE\s*$/;

function changesRows({ sql, words }: Part): boolean {
  return CHANGES_ROWS.has(verbOf(words)) || copiesIntoTable(sql, duckdbDialect);
}

/** The statements of SQL for Postgres, which has the same tokens as that of DuckDB. */
function partsOf(sql: string): readonly Part[] {
  const parts: Part[] = [];
  let tokens: Token[] = [];
  let from = 0;
  /** Parentheses, and blocks in the body of a function: a semicolon in these does not end the statement. */
  let depth = 0;
  let blocks = 0;
  const end = (at: number): void => {
    if (tokens.length > 0) parts.push({ sql: sql.slice(from, at), words: topLevelWords(tokens) });
    tokens = [];
    from = at + 1;
  };
  for (const token of tokensOf(sql, duckdbDialect)) {
    const { kind, text, at } = token;
    if (kind === "symbol" && text === "(") depth++;
    if (kind === "symbol" && text === ")") depth--;
    if (text === "ATOMIC" && tokens.at(-1)?.text === "BEGIN") blocks++;
    if (blocks > 0 && text === "CASE") blocks++;
    if (blocks > 0 && text === "END") blocks--;
    if (kind === "symbol" && text === ";" && depth === 0 && blocks === 0) end(at);
    else tokens.push(token);
  }
  end(sql.length);
  return parts;
}
