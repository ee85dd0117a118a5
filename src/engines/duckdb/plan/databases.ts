import { openLru } from "../../../bounded/lru.ts";
import { changedName, copiesIntoTable, effectsOf, insertedRows } from "../../../sql/classify.ts";
import { privilegedActions } from "../../../sql/privileged-actions.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { TextRows } from "../../embedded-engine.ts";
import type { StatementProblem } from "../../engine.ts";
import type { RecordStore } from "../../write-once.ts";
import { duckdbDialect } from "../dialect.ts";

/** A database that is open: the main one, or one that a connection has attached. */
export interface Database {
  /** In lower case. */
  readonly name: string;
  /** As DuckDB calls it: `duckdb`, `sqlite`, `postgres`. */
  readonly type: string;
  /** Its data are lost when the process exits. */
  readonly inMemory: boolean;
  readonly readOnly: boolean;
  /** Names without a database refer to this one, or are looked up here first. */
  readonly isDefault: boolean;
  /** Names without a database are looked up in others too. */
  readonly sharesNames: boolean;
}

type Inspect = (statement: Statement) => Promise<TextRows>;

export async function listDatabases(inspect: Inspect): Promise<readonly Database[]> {
  const rows = await inspect({
    sql:
      "SELECT lower(database_name), type, (type = 'duckdb' AND path IS NULL)::VARCHAR, readonly::VARCHAR, " +
      "(database_name = current_database())::VARCHAR, contains(current_setting('search_path'), ',')::VARCHAR " +
      "FROM duckdb_databases() WHERE NOT internal",
    values: [],
  });
  return rows.map(([name, type, inMemory, readOnly, isDefault, sharesNames]) => ({
    name: name ?? "",
    type: type ?? "",
    inMemory: inMemory === "true",
    readOnly: readOnly === "true",
    isDefault: isDefault === "true",
    sharesNames: sharesNames === "true",
  }));
}

/** The database that a statement changes, as far as its text shows. */
export function changedDatabase(sql: string, databases: readonly Database[]): Database | undefined {
  const path = changedName(sql, duckdbDialect);
  if (path === undefined) return undefined;
  const named = path.length > 1 ? databases.find(({ name }) => name === path[0]) : undefined;
  return named ?? databases.find(({ isDefault }) => isDefault);
}

/** The databases that a statement may change: several if a name without a database may belong to any of them. */
export function changedDatabases(sql: string, databases: readonly Database[]): readonly Database[] {
  const found = changedDatabase(sql, databases);
  if (found === undefined) return [];
  return found.isDefault && found.sharesNames ? databases.filter(({ readOnly }) => !readOnly) : [found];
}

/** Caches what is known about the open databases. */
export interface Databases {
  /** Whether the result of a statement would be lost if DuckDB commits it by itself and then fails to checkpoint the file. */
  mayLoseResult(sql: string): Promise<boolean> | boolean;
  /** Whether a statement changes only databases of DuckDB itself. False also if that is not known yet. */
  isInDuckDb(sql: string): boolean;
  /** Where the records of a write are kept, whichever of these lists of statements it runs. */
  recordStore(samples: readonly (readonly Statement[])[]): Promise<RecordStore>;
  /** Why these statements cannot be run and rolled back, as far as their text shows. Undefined: no problem. */
  rollbackProblem(statements: readonly Statement[]): Promise<string | undefined>;
  /** Why these statements cannot run in one transaction, as far as their text shows. */
  transactionProblem(statements: readonly Statement[]): Promise<StatementProblem | undefined>;
  /** Call it when databases may have been attached or detached. */
  forget(): void;
}

/** Room for about a thousand SQL strings of a thousand characters. */
const MAX_BYTES = 2 * 1024 * 1024;

export function openDatabases(inspect: Inspect): Databases {
  let listed: Promise<readonly Database[]> | undefined;
  const lossy = openLru<boolean>({ maxBytes: MAX_BYTES });
  const inDuckDb = openLru<boolean>({ maxBytes: MAX_BYTES });

  function list(): Promise<readonly Database[]> {
    const listing = listed ?? listDatabases(inspect);
    listed = listing;
    listing.catch(() => {
      if (listed === listing) listed = undefined;
    });
    return listing;
  }

  async function lookUp(sql: string): Promise<boolean> {
    const listing = list();
    const databases = await listing;
    const changed = changedDatabase(sql, databases);
    const isLossy = (changed === undefined ? databases : [changed]).some(
      ({ type, inMemory }) => type === "duckdb" && !inMemory,
    );
    if (listed === listing) lossy.set(sql, isLossy);
    return isLossy;
  }

  return {
    mayLoseResult(sql) {
      const known = lossy.get(sql);
      if (known !== undefined) return known;
      // The number of inserted rows is known without a result.
      if (insertedRows(sql, duckdbDialect) === undefined) return lookUp(sql);
      lossy.set(sql, false);
      return false;
    },
    isInDuckDb(sql) {
      const known = inDuckDb.get(sql);
      if (known !== undefined) return known;
      const listing = list();
      listing.then(
        (databases) => {
          const changed = changedDatabases(sql, databases);
          if (listed === listing)
            inDuckDb.set(sql, changed.length > 0 && changed.every(({ type }) => type === "duckdb"));
        },
        () => {},
      );
      return false;
    },
    async recordStore(samples) {
      const databases = await list();
      const found = samples.flatMap((statements) => changedBy(statements, databases));
      const obstacle = found.find((each) => typeof each === "string");
      if (obstacle !== undefined) return { kind: "none", reason: obstacle };
      const changed = new Set(found.filter((each) => typeof each !== "string"));
      // A write that changes nothing may run twice; its record is kept in memory.
      if (changed.size === 0) return { kind: "memory" };
      const [only, ...others] = changed;
      if (only === undefined || others.length > 0) {
        const names = [...changed].map(({ name }) => `'${name}'`).sort();
        return { kind: "none", reason: `it changes several databases, ${names.join(" and ")}` };
      }
      return storeIn(only);
    },
    async rollbackProblem(statements) {
      const databases = await list();
      const obstacle = changedBy(statements, databases).find((each) => typeof each === "string");
      return obstacle ?? findSecondDatabase(statements, databases)?.message;
    },
    transactionProblem: async (statements) => findSecondDatabase(statements, await list()),
    forget() {
      listed = undefined;
      lossy.clear();
      inDuckDb.clear();
    },
  };
}

/** The databases that these statements change, or why no record can be kept. */
function changedBy(statements: readonly Statement[], databases: readonly Database[]): (Database | string)[] {
  const texts = statements.map(({ sql }) => sql);
  return effectsOf(texts, duckdbDialect).flatMap((effect, index): readonly (Database | string)[] => {
    if (effect.kind === "reads") return [];
    const sql = texts[index] ?? "";
    const [privileged] = privilegedActions(sql, duckdbDialect);
    if (privileged !== undefined && !copiesIntoTable(sql, duckdbDialect))
      return [`it reaches beyond its data (${privileged.what})`];
    const [only, ...others] = changedDatabases(sql, databases);
    if (only === undefined || others.length > 0) return [`Eider cannot tell which database ${effect.verb} changes`];
    // These statements commit the transaction in MySQL.
    if (only.type === "mysql" && DEFINITION_VERBS.has(effect.verb)) return [`MySQL commits ${effect.verb} by itself`];
    return [only];
  });
}

/** DuckDB's transactions change one database. Statements of which the text does not show what they change do not count. */
function findSecondDatabase(
  statements: readonly Statement[],
  databases: readonly Database[],
): StatementProblem | undefined {
  const texts = statements.map(({ sql }) => sql);
  if (texts.some(changesMeaningOfNames)) return undefined;
  const effects = effectsOf(texts, duckdbDialect);
  let first: Database | undefined;
  for (const [statement, sql] of texts.entries()) {
    if (effects[statement]?.kind !== "changes") continue;
    const [changed, ...others] = changedDatabases(sql, databases);
    if (changed === undefined || others.length > 0) continue;
    first ??= changed;
    if (changed === first) continue;
    const message = `one transaction cannot change two databases, and this template changes '${first.name}' and '${changed.name}'; write two endpoints, or let each statement commit by itself: operation: { transaction: false }`;
    return { kind: "syntax", message, statement, offset: undefined };
  }
  return undefined;
}

/** ATTACH, USE and the like: after them, a name may belong to another database than now. */
function changesMeaningOfNames(sql: string): boolean {
  return privilegedActions(sql, duckdbDialect).some(
    ({ permission }) => permission === "attach" || permission === "set",
  );
}

const DEFINITION_VERBS = new Set(["CREATE", "DROP", "ALTER"]);

/** Kinds of databases with transactions and unique keys in which DuckDB can create tables. */
const CAN_HOLD_RECORDS = new Set(["duckdb", "sqlite", "postgres", "mysql"]);

function storeIn({ name, type, inMemory, readOnly }: Database): RecordStore {
  if (readOnly) return { kind: "none", reason: `the database '${name}' is read-only` };
  if (inMemory) return { kind: "memory" };
  if (CAN_HOLD_RECORDS.has(type)) return { kind: "database", name, type };
  return { kind: "none", reason: `the database '${name}' is of type ${type}, which has no unique keys` };
}
