import { tokensOf, topLevelTokens } from "../../../sql/statement-words.ts";
import { splitStatements } from "../../../sql/whole-tokens.ts";
import { duckdbDialect } from "../dialect.ts";

/** A statement that access to remote files may depend on. */
export interface SecretStatement {
  readonly sql: string;
  readonly isSetting: boolean;
}

const SETTINGS: ReadonlySet<string> = new Set(["SET", "RESET"]);
const KINDS: ReadonlySet<string> = new Set(["PERSISTENT", "TEMP", "TEMPORARY"]);
const EXTENSIONS: ReadonlySet<string> = new Set(["INSTALL", "LOAD", "FORCE"]);

/**
 * The statements of an `init` that load extensions, create secrets or change settings. The others attach databases or
 * change data, which must happen only once, in the database of the service.
 */
export function secretStatements(init: string): readonly SecretStatement[] {
  return splitStatements(init, duckdbDialect).flatMap((sql): readonly SecretStatement[] => {
    const [verb, ...words] = topLevelTokens(tokensOf(sql, duckdbDialect));
    if (verb === undefined) return [];
    if (SETTINGS.has(verb.text)) return [{ sql, isSetting: true }];
    if (EXTENSIONS.has(verb.text)) return [{ sql, isSetting: false }];
    if (verb.text === "CALL" && words[0]?.text === "LOAD_AWS_CREDENTIALS") return [{ sql, isSetting: false }];
    if (verb.text !== "CREATE") return [];
    const [first, second] = words.slice(words[0]?.text === "OR" ? 2 : 0);
    if (first?.text === "SECRET") return [{ sql, isSetting: false }];
    if (first === undefined || !KINDS.has(first.text) || second?.text !== "SECRET") return [];
    // A persistent secret is a file, which the service itself creates later.
    const temporary = `${sql.slice(0, first.at)}TEMPORARY${sql.slice(first.at + first.text.length)}`;
    return [{ sql: temporary, isSetting: false }];
  });
}
