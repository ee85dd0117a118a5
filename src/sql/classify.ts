import type { Dialect } from "./dialect.ts";
import { BARE, type Mode, readBareToken, readComment, readQuoted, readString } from "./sql-lexer.ts";

/** Statements that change data, the catalog, files or the session. Whatever is no statement at all is for the parser to refuse. */
const CHANGING_VERBS = new Set(
  (
    "INSERT UPDATE DELETE MERGE TRUNCATE CREATE DROP ALTER COMMENT COPY EXPORT IMPORT ATTACH DETACH INSTALL LOAD " +
    "SET RESET USE BEGIN START COMMIT ROLLBACK ABORT END PREPARE EXECUTE DEALLOCATE VACUUM CHECKPOINT FORCE REINDEX"
  ).split(" "),
);
const WITH_VERBS = new Set([
  "SELECT",
  "FROM",
  "VALUES",
  "TABLE",
  "INSERT",
  "UPDATE",
  "DELETE",
  "MERGE",
  "PIVOT",
  "UNPIVOT",
]);

/** What a statement does, as far as its words tell: `reads`, or the verb that changes something. */
export type StatementEffect = { readonly kind: "reads" } | { readonly kind: "changes"; readonly verb: string };

const READS: StatementEffect = { kind: "reads" };

/** Tells for each statement of a template whether it changes anything that is not temporary. */
export function effectsOf(statements: readonly string[], dialect: Dialect): StatementEffect[] {
  const temporary = new Set<string>();
  return statements.map((sql) => effectOf(topLevelWords(sql, dialect), temporary));
}

function effectOf(words: readonly string[], temporary: Set<string>): StatementEffect {
  const [first = ""] = words;
  const verb = first === "WITH" ? (words.find((word) => WITH_VERBS.has(word)) ?? first) : first;
  if (verb === "CALL" && words[1]?.endsWith("_EXECUTE")) return { kind: "changes", verb: words[1] };
  if (verb === "EXPLAIN") {
    const rest = words.slice(1);
    return rest[0] === "ANALYZE" ? effectOf(rest.slice(1), temporary) : READS;
  }
  if (verb === "SET" && words[1] === "VARIABLE") return READS;
  if (verb === "CREATE") {
    const rest = words.slice(words[1] === "OR" ? 3 : 1);
    if (rest[0] === "TEMP" || rest[0] === "TEMPORARY") {
      const name = rest.slice(2).find((word) => !["IF", "NOT", "EXISTS"].includes(word));
      if (name !== undefined) temporary.add(name);
      return READS;
    }
  }
  if (changesTemporary(verb, words, temporary)) return READS;
  return CHANGING_VERBS.has(verb) ? { kind: "changes", verb } : READS;
}

/** What a statement changes, as far as its words tell. */
export type ChangedTable =
  | { readonly kind: "nothing" }
  /** The last part of its name, in lower case. */
  | { readonly kind: "table"; readonly name: string }
  | { readonly kind: "unknown" };

const BEFORE_THE_NAME = new Set(
  "INTO FROM OR REPLACE IGNORE TABLE ONLY VIEW SCHEMA SEQUENCE MACRO FUNCTION TYPE IF NOT EXISTS UNIQUE PERSISTENT RECURSIVE".split(
    " ",
  ),
);

/** The name of what a statement changes or makes, part by part, in lower case. Undefined when its words do not tell. */
export function changedName(sql: string, dialect: Dialect): readonly string[] | undefined {
  const [effect] = effectsOf([sql], dialect);
  if (effect === undefined || effect.kind === "reads" || !NAMED_VERBS.has(effect.verb)) return undefined;
  const outside = topLevel([...tokens(sql, dialect)]);
  let at = outside.findIndex(({ text }) => text === effect.verb) + 1;
  while (BEFORE_THE_NAME.has(outside[at]?.text ?? "")) at++;
  const path: string[] = [];
  for (let part = outside[at]; part?.kind === "word"; part = outside[at]) {
    path.push(part.text.toLowerCase());
    if (outside[at + 1]?.text !== ".") break;
    at += 2;
  }
  return path.length === 0 ? undefined : path;
}

const ROW_VERBS = new Set(["INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE"]);
const NAMED_VERBS = new Set([...ROW_VERBS, "CREATE", "DROP", "ALTER"]);

export function changedTable(sql: string, dialect: Dialect): ChangedTable {
  const [effect] = effectsOf([sql], dialect);
  if (effect === undefined || effect.kind === "reads") return { kind: "nothing" };
  const name = ROW_VERBS.has(effect.verb) ? changedName(sql, dialect)?.at(-1) : undefined;
  return name === undefined ? { kind: "unknown" } : { kind: "table", name };
}

/** `COPY t FROM ...` inserts rows; `COPY ... TO ...` writes a file. */
export function copiesIntoTable(sql: string, dialect: Dialect): boolean {
  const words = topLevelWords(sql, dialect);
  const direction = words.find((word) => word === "FROM" || word === "TO");
  return words[0] === "COPY" && direction === "FROM";
}

interface Token {
  readonly kind: "word" | "symbol";
  readonly text: string;
}

/** Those outside parentheses. */
function topLevel(all: readonly Token[]): readonly Token[] {
  let depth = 0;
  return all.filter(({ text }) => {
    if (text === "(") depth += 1;
    if (text === ")") depth -= 1;
    return depth === 0 && text !== ")";
  });
}

/** `INSERT INTO x`, `UPDATE x`, `DELETE FROM x`, `DROP TABLE x` on what the template itself created as temporary. */
function changesTemporary(verb: string, words: readonly string[], temporary: ReadonlySet<string>): boolean {
  if (!["INSERT", "UPDATE", "DELETE", "DROP", "MERGE"].includes(verb)) return false;
  const name = words
    .slice(words.indexOf(verb) + 1)
    .find((word) => !["INTO", "FROM", "OR", "REPLACE", "IGNORE", "TABLE", "VIEW", "IF", "EXISTS"].includes(word));
  return name !== undefined && (temporary.has(name) || name === "TEMP");
}

/** The words outside parentheses, upper case. */
function topLevelWords(sql: string, dialect: Dialect): string[] {
  const words: string[] = [];
  let depth = 0;
  let opened = false;
  for (const { kind, text } of tokens(sql, dialect)) {
    // `(SELECT ...) UNION ...`: a statement that begins with a parenthesis is known by the first word inside.
    if (kind === "word" && (depth === 0 || !opened)) {
      words.push(text);
      opened = true;
    }
    if (text === "(") depth += 1;
    if (text === ")") depth -= 1;
  }
  return words;
}

function* tokens(sql: string, dialect: Dialect): Generator<Token> {
  let mode: Mode = BARE;
  let at = 0;
  while (at < sql.length) {
    if (mode.kind === "line-comment" || mode.kind === "block-comment") {
      const rest: { mode: Mode; end: number } = readComment(sql, at, mode, dialect);
      mode = rest.mode;
      at = rest.end;
      continue;
    }
    const token = readBareToken(sql, at, dialect);
    const end = at + token.length;
    if (token.kind === "open-string") {
      at = readString(sql, end, token.style).end ?? sql.length;
    } else if (token.kind === "open-identifier") {
      const name = readQuoted(sql, end, '"');
      yield { kind: "word", text: name.value.toUpperCase() };
      at = name.end ?? sql.length;
    } else {
      if (token.kind === "open-line-comment") mode = { kind: "line-comment" };
      if (token.kind === "open-block-comment") mode = { kind: "block-comment", depth: 1 };
      if (token.kind === "word") yield { kind: "word", text: sql.slice(at, end).toUpperCase() };
      if (token.kind === "symbol") yield { kind: "symbol", text: sql.slice(at, end) };
      at = end;
    }
  }
}
