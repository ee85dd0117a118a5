import { engine } from "../engines/index.ts";
import { copiesIntoTable } from "../sql/classify.ts";
import { privilegedActions } from "../sql/privileged-actions.ts";
import { quoteLiteral } from "../sql/quote.ts";
import { readQuoted } from "../sql/sql-lexer.ts";
import { calledFunctions, tokensOf } from "../sql/statement-words.ts";
import { splitStatements, wholeTokens } from "../sql/whole-tokens.ts";

const { dialect } = engine;

const unprotectedFunctions = new Set(engine.connectionTypes.flatMap((type) => type.unprotectedFunctions ?? []));

/** Why SQL or a template can change a server, although it is attached for reading only. Undefined if it cannot. */
export function serverChange(sql: string): string | undefined {
  const tokens = tokensOf(sql, dialect);
  const changing = calledFunctions(tokens).find(({ text }) => dialect.changesData(text));
  if (changing !== undefined) return `it calls ${changing.text.toLowerCase()}, which changes a server`;
  const unprotected = tokens.find(({ text }) => unprotectedFunctions.has(text));
  return (
    unprotected && `it calls ${unprotected.text.toLowerCase()}, which can change a server that is attached READ_ONLY`
  );
}

/** What an ATTACH statement attaches. */
interface Attachment {
  /** Undefined if it is not a plain string. */
  readonly address: { readonly text: string; readonly start: number; readonly end: number } | undefined;
  readonly isReadOnly: boolean;
  readonly type: string | undefined;
}

function attachmentOf(sql: string): Attachment | undefined {
  const tokens = tokensOf(sql, dialect);
  if (tokens[0]?.text !== "ATTACH") return undefined;
  const after = (word: string): string | undefined => {
    const index = tokens.findIndex(({ text }) => text === word);
    return index < 0 ? undefined : (tokens[index + 1]?.text ?? "");
  };
  const literal = [...wholeTokens(sql, dialect)].find(({ kind }) => kind === "open-string");
  const isPlain = literal?.text.startsWith("'") === true;
  return {
    address: isPlain
      ? {
          text: readQuoted(literal.text, 1, "'").value,
          start: literal.start,
          end: literal.start + literal.text.length,
        }
      : undefined,
    isReadOnly: [",", ")", "TRUE"].includes(after("READ_ONLY") ?? ""),
    type: after("TYPE")?.toLowerCase(),
  };
}

const IN_MEMORY = new Set(["", ":memory:"]);
/** Windows paths begin with a single letter and a colon. */
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;

/** Whether a path or an address names a file on this machine. */
export function isLocalFile(address: string): boolean {
  return !IN_MEMORY.has(address) && !SCHEME.test(address);
}

function isCopied({ address, isReadOnly, type }: Attachment): boolean {
  const isFile =
    type === undefined || engine.connectionTypes.some((known) => known.type === type && known.databaseFile);
  return address !== undefined && !isReadOnly && isFile && isLocalFile(address.text);
}

/** MotherDuck attaches the other databases of the account too. */
const WHOLE_ACCOUNT = /^(?:md|motherduck):/i;

/** A server or a catalog, which cannot be copied but can be attached for reading only. */
function isProtected({ address, isReadOnly }: Attachment): boolean {
  return !isReadOnly && address !== undefined && !IN_MEMORY.has(address.text) && !WHOLE_ACCOUNT.test(address.text);
}

export interface IsolatedSql {
  readonly sql: string;
  /** Whether it attaches something for reading only that it would otherwise attach for writing. */
  readonly isProtected: boolean;
}

/** The SQL with copies of the database files that it attaches for writing. It attaches everything else for reading only. */
export async function isolateSql(sql: string, copyOf: (path: string) => Promise<string>): Promise<IsolatedSql> {
  const statements: string[] = [];
  let hasProtected = false;
  for (const statement of splitStatements(sql, dialect)) {
    const attachment = attachmentOf(statement);
    if (attachment?.address === undefined) statements.push(statement);
    else if (isCopied(attachment)) {
      const { text, start, end } = attachment.address;
      statements.push(statement.slice(0, start) + quoteLiteral(await copyOf(text)) + statement.slice(end));
    } else if (isProtected(attachment)) {
      hasProtected = true;
      statements.push(attachReadOnly(statement, attachment.address.end));
    } else statements.push(statement);
  }
  return { sql: statements.join(";\n"), isProtected: hasProtected };
}

/** Adds the option READ_ONLY to an ATTACH statement, whose address ends at this index. */
function attachReadOnly(sql: string, from: number): string {
  const options = tokensOf(sql, dialect).find(({ text, at }) => text === "(" && at >= from)?.at;
  // A comment at the end would hide what is appended.
  return options === undefined
    ? `${sql}\n(READ_ONLY)`
    : `${sql.slice(0, options + 1)}READ_ONLY, ${sql.slice(options + 1)}`;
}

/** Why SQL that opens a connection could change something that is not a copy. Undefined if it cannot. */
export function unsafeReason(sql: string, isCopy: (path: string) => boolean): string | undefined {
  for (const statement of splitStatements(sql, dialect)) {
    const reason = unsafeStatement(statement, isCopy);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function unsafeStatement(sql: string, isCopy: (path: string) => boolean): string | undefined {
  const attachment = attachmentOf(sql);
  if (attachment !== undefined) {
    const { address, isReadOnly } = attachment;
    const isSafe = isReadOnly || (address !== undefined && (IN_MEMORY.has(address.text) || isCopy(address.text)));
    return isSafe ? undefined : "it attaches a database for writing that cannot be copied; add READ_ONLY";
  }
  const actions = privilegedActions(sql, dialect);
  // Inside PREPARE or EXPLAIN ANALYZE.
  if (actions.some(({ what }) => what === "ATTACH")) return "it attaches a database in another statement";
  const action = actions.find(({ permission }) => permission === "copy");
  if (action !== undefined && !copiesIntoTable(sql, dialect)) return `${action.what} could overwrite files`;
  if (tokensOf(sql, dialect).some(({ text }) => text === "PERSISTENT"))
    return "a persistent secret is stored in a file";
  return serverChange(sql);
}

/** Why the SQL of a test's `setup` is not allowed. Undefined if it only reads and changes data. */
export function setupProblem(sql: string): string | undefined {
  for (const statement of splitStatements(sql, dialect)) {
    const [action] = privilegedActions(statement, dialect);
    const reason =
      action === undefined ? serverChange(statement) : `'${action.what}' reaches beyond the copy of the data`;
    if (reason !== undefined) return `${reason}; a setup may only change data`;
  }
  return undefined;
}

export function setupStatements(sql: string): readonly string[] {
  return splitStatements(sql, dialect);
}
