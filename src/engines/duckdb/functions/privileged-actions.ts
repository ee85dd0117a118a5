import type { Permission, PrivilegedAction } from "../../../sql/privileged-action.ts";
import { calledFunctions, topLevelWords } from "../../../sql/statement-words.ts";
import type { Token } from "../../../sql/token.ts";

const VERBS: ReadonlyMap<string, PrivilegedAction["permission"]> = new Map([
  ["ATTACH", "attach"],
  ["DETACH", "attach"],
  ["CHECKPOINT", "checkpoint"],
  ["COPY", "copy"],
  ["EXPORT", "copy"],
  ["IMPORT", "copy"],
  ["INSTALL", "install"],
  ["LOAD", "load"],
  ["USE", "set"],
]);

/** Pragmas that only return information. */
const INFORMATION_PRAGMAS = new Set(
  (
    "COLLATIONS DATABASE_LIST DATABASE_SIZE EXTENSION_VERSIONS FUNCTIONS METADATA_INFO PLATFORM SHOW SHOW_DATABASES SHOW_TABLES " +
    "SHOW_TABLES_EXPANDED STORAGE_INFO TABLE_INFO USER_AGENT VERSION"
  ).split(" "),
);

const PRAGMAS: ReadonlyMap<string, Permission> = new Map([
  ["COPY_DATABASE", "copy"],
  ["IMPORT_DATABASE", "copy"],
  ["CHECKPOINT", "checkpoint"],
  ["FORCE_CHECKPOINT", "checkpoint"],
]);

/** Table functions with side effects. */
const FUNCTIONS: ReadonlyMap<string, Permission> = new Map([
  ["CHECKPOINT", "checkpoint"],
  ["FORCE_CHECKPOINT", "checkpoint"],
  ["ENABLE_LOGGING", "set"],
  ["DISABLE_LOGGING", "set"],
  ["TRUNCATE_DUCKDB_LOGS", "set"],
  ["ENABLE_PROFILING", "set"],
  ["DISABLE_PROFILING", "set"],
  ["ENABLE_PEG_PARSER", "set"],
  ["DISABLE_PEG_PARSER", "set"],
  ["POSTGRES_ATTACH", "attach"],
  ["SQLITE_ATTACH", "attach"],
  ["LOAD_AWS_CREDENTIALS", "secret"],
]);

/** The privileged actions in a statement of DuckDB, as far as its tokens show. */
export function privilegedActions(all: readonly Token[]): readonly PrivilegedAction[] {
  const verb = actionOfVerb(topLevelWords(all), all.find(({ kind }) => kind === "word")?.at ?? 0);
  const called = calledFunctions(all).flatMap(({ text, at }) => {
    const permission = FUNCTIONS.get(text);
    return permission === undefined ? [] : { permission, what: text.toLowerCase(), at };
  });
  const environment = all.flatMap(({ text, at }, index) =>
    text === "GETENV" && all[index + 1]?.text === "("
      ? { permission: "environment" as const, what: text.toLowerCase(), at }
      : [],
  );
  return [...verb, ...called, ...environment];
}

function actionOfVerb(words: readonly string[], at: number): readonly PrivilegedAction[] {
  const [first = "", second = ""] = words;
  const isForced = first === "FORCE";
  const permission = isForced ? permissionOf(second, words.slice(2)) : permissionOf(first, words.slice(1));
  if (permission === undefined) return [];
  if (permission === "secret") return [{ permission, what: `${first} SECRET`, at }];
  return [{ permission, what: isForced || first === "UPDATE" ? `${first} ${second}` : first, at }];
}

function permissionOf(verb: string, others: readonly string[]): PrivilegedAction["permission"] | undefined {
  const [second = ""] = others;
  switch (verb) {
    case "SET":
    case "RESET":
      // A variable lasts only as long as its connection, which is not reused.
      return second === "VARIABLE" ? undefined : "set";
    case "PRAGMA":
      return INFORMATION_PRAGMAS.has(second) ? undefined : (PRAGMAS.get(second) ?? "set");
    case "UPDATE":
      return second === "EXTENSIONS" && !others.includes("SET") ? "install" : undefined;
    case "CREATE":
    case "DROP":
      return others.find((word) => !BEFORE_SECRET.has(word)) === "SECRET" ? "secret" : undefined;
  }
  return VERBS.get(verb);
}

const BEFORE_SECRET = new Set(["OR", "REPLACE", "PERSISTENT", "TEMPORARY", "TEMP"]);
