import type { Dialect } from "./dialect.ts";
import { calledFunctions, runningPart, type Token, tokensOf, topLevelWords } from "./statement-words.ts";

/** What a write may be allowed to do beyond its data: the words of `operation.allow`. */
export const powers = ["attach", "checkpoint", "copy", "load", "secret", "set"] as const;
export type Power = (typeof powers)[number];

/** What of the machine or of the service a statement touches, beyond the data that it reads or changes. */
export interface Reach {
  /** `install` and `environment` are for no template. */
  readonly power: Power | "install" | "environment";
  /** As the author wrote it, in capitals for a statement. */
  readonly what: string;
  /** Where in the statement. */
  readonly at: number;
}

const VERBS: ReadonlyMap<string, Reach["power"]> = new Map([
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

const PRAGMAS: ReadonlyMap<string, Power> = new Map([
  ["COPY_DATABASE", "copy"],
  ["IMPORT_DATABASE", "copy"],
  ["CHECKPOINT", "checkpoint"],
  ["FORCE_CHECKPOINT", "checkpoint"],
]);

/** Table functions that do more than to give rows. */
const FUNCTIONS: ReadonlyMap<string, Power> = new Map([
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

/** Everything in a statement that goes beyond its data, as far as its tokens show. */
export function reachesOf(sql: string, dialect: Dialect): readonly Reach[] {
  const all = runningPart(preparedPart(tokensOf(sql, dialect)));
  const verb = verbReach(topLevelWords(all), all.find(({ kind }) => kind === "word")?.at ?? 0);
  const called = calledFunctions(all).flatMap(({ text, at }) => {
    const power = FUNCTIONS.get(text);
    return power === undefined ? [] : { power, what: text.toLowerCase(), at };
  });
  const environment = all.flatMap(({ text, at }, index) =>
    text === "GETENV" && all[index + 1]?.text === "("
      ? { power: "environment" as const, what: text.toLowerCase(), at }
      : [],
  );
  return [...verb, ...called, ...environment];
}

function verbReach(words: readonly string[], at: number): readonly Reach[] {
  const [first = "", second = ""] = words;
  const isForced = first === "FORCE";
  const power = isForced ? powerOf(second, words.slice(2)) : powerOf(first, words.slice(1));
  if (power === undefined) return [];
  if (power === "secret") return [{ power, what: `${first} SECRET`, at }];
  return [{ power, what: isForced || first === "UPDATE" ? `${first} ${second}` : first, at }];
}

function powerOf(verb: string, others: readonly string[]): Reach["power"] | undefined {
  const [second = ""] = others;
  switch (verb) {
    case "SET":
    case "RESET":
      // It ends with the connection, which is not used again.
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

/** What a PREPARE will execute. */
function preparedPart(all: readonly Token[]): readonly Token[] {
  return all[0]?.text === "PREPARE" ? all.slice(all.findIndex(({ text }) => text === "AS") + 1) : all;
}

const SCOPES = new Set(["GLOBAL", "SESSION", "LOCAL"]);

/** Every setting that statements of a text, or of a template, may set or reset. */
export function settingsNamed(text: string, dialect: Dialect): readonly string[] {
  const all = tokensOf(text, dialect);
  const names = all.flatMap(({ text: word }, index) => {
    if (word !== "SET" && word !== "RESET" && word !== "PRAGMA") return [];
    // Where a statement begins, or a section of a template; not `UPDATE t SET x`.
    if (![undefined, ";", "}"].includes(all[index - 1]?.text)) return [];
    const at = SCOPES.has(all[index + 1]?.text ?? "") ? index + 2 : index + 1;
    const name = all[at];
    if (name?.kind !== "word" || name.text === "VARIABLE") return [];
    return name.text === "TIME" && all[at + 1]?.text === "ZONE" ? "timezone" : name.text.toLowerCase();
  });
  return [...new Set(names)];
}
