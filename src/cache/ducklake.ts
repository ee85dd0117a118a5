import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { EngineOpenError } from "../engines/engine.ts";
import { errorMessage } from "../error-message.ts";
import { messageMask } from "../secrets.ts";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.ts";
import { statement, textValue } from "../sql/statement.ts";
import type { After } from "../time-limit.ts";
import { type LakeAddress, parseLakeAddress } from "./lake-address.ts";
import { inTransaction } from "./store-sql.ts";

/** A DuckLake catalog that holds the cache. */
export interface Lake {
  /** The name under which it is attached. */
  readonly catalog: string;
  readonly metadataPath: string;
  /** The folder of the Parquet files; next to the catalog's file when absent. */
  readonly dataPath: string | undefined;
}

/** Whether other processes may share the catalog: then one of them is the leader. */
export function isShared({ metadataPath }: Lake): boolean {
  return parseLakeAddress(metadataPath).kind === "postgres";
}

/** Statements that attach the catalog, with the extensions and the secret that it needs. Throws an EngineOpenError. */
export function attachSql({ catalog, metadataPath, dataPath }: Lake): string {
  const address = parseLakeAddress(metadataPath);
  if (address.kind === "postgres" && dataPath === undefined) {
    throw new EngineOpenError("data-path: missing; a catalog in Postgres does not say where rows go", "data-path");
  }
  const settings = [
    ...(dataPath === undefined ? [] : [`DATA_PATH ${quoteLiteral(dataPath)}`]),
    // Inlined rows would need a table per snapshot in the catalog's database, dropped while others read it.
    "DATA_INLINING_ROW_LIMIT 0",
  ];
  const extensions = ["ducklake", ...extensionsOf(address)].flatMap((name) => [`INSTALL ${name}`, `LOAD ${name}`]);
  const secret = `${catalog}_catalog`;
  switch (address.kind) {
    case "file":
      return joinStatements(extensions, attachStatement(catalog, address.path, settings));
    case "sqlite": {
      // Otherwise readers block writers.
      const journal = ["META_JOURNAL_MODE 'WAL'", "META_BUSY_TIMEOUT 5000"];
      return joinStatements(extensions, attachStatement(catalog, `sqlite:${address.path}`, [...settings, ...journal]));
    }
    case "postgres": {
      const { connection, password } = address;
      if (password === undefined)
        return joinStatements(extensions, attachStatement(catalog, `postgres:${connection}`, settings));
      // DuckDB's error messages show addresses, but not secrets.
      const createSecret = `CREATE OR REPLACE SECRET ${quoteIdentifier(secret)} (TYPE postgres, PASSWORD ${quoteLiteral(password)})`;
      const settingsWithSecret = [...settings, `META_SECRET ${quoteLiteral(secret)}`];
      return joinStatements(
        [...extensions, createSecret],
        attachStatement(catalog, `postgres:${connection}`, settingsWithSecret),
      );
    }
  }
}

function extensionsOf({ kind }: LakeAddress): readonly string[] {
  return kind === "file" ? [] : [kind];
}

function attachStatement(catalog: string, address: string, settings: readonly string[]): string {
  return `ATTACH ${quoteLiteral(`ducklake:${address}`)} AS ${quoteIdentifier(catalog)} (${settings.join(", ")})`;
}

function joinStatements(before: readonly string[], last: string): string {
  return [...before, last].join(";\n");
}

const MAX_TRIES = 10;
const PAUSE_MS = 100;
/** Two processes that create the same catalog at the same time conflict. */
const CREATED_CONCURRENTLY =
  /Failed to initialize DuckLake[\s\S]*(?:duplicate key|already exists|could not serialize|locked)/i;

/** Attaches the catalog, and creates it if missing. Rejects with an EngineOpenError that holds no secret. */
export async function attachLake(engine: EmbeddedEngine, lake: Lake, after: After): Promise<void> {
  const sql = attachSql(lake);
  for (let tries = 1; ; tries++) {
    try {
      await engine.attach(lake.catalog, sql);
      break;
    } catch (error) {
      const message = maskedMessage(error, lake);
      if (tries === MAX_TRIES || !CREATED_CONCURRENTLY.test(message)) {
        throw new EngineOpenError(message, error instanceof EngineOpenError ? error.setting : undefined);
      }
      // The first retry is immediate: the other process is usually done by then.
      if (tries > 1) await pause(after);
    }
  }
  await keepRecordsInline(engine, lake.catalog);
}

async function pause(after: After): Promise<void> {
  // During startup, nothing else keeps the process alive.
  const keepAlive = setInterval(() => {}, PAUSE_MS);
  await new Promise<void>((resolve) => after(PAUSE_MS, resolve));
  clearInterval(keepAlive);
}

function maskedMessage(error: unknown, { metadataPath }: Lake): string {
  const address = parseLakeAddress(metadataPath);
  const secrets = address.kind === "postgres" ? address.secrets : [];
  return messageMask(secrets)(errorMessage(error));
}

/** Stores rows of audit tables in the catalog's database: each would need a file of its own otherwise. */
async function keepRecordsInline(engine: EmbeddedEngine, catalog: string): Promise<void> {
  const options = `ducklake_options(${quoteLiteral(catalog)})`;
  await inTransaction(engine, ["audit"], async (run) => {
    await run(statement(`CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(catalog)}.audit`));
  });
  await inTransaction(engine, [], async (run) => {
    const known = await run(
      statement(
        `SELECT value FROM ${options} WHERE option_name = $1 AND scope = 'SCHEMA' AND scope_entry = 'audit'`,
        textValue("data_inlining_row_limit"),
      ),
    );
    if (known.length > 0) return;
    await run(
      statement(`CALL ${quoteIdentifier(catalog)}.set_option('data_inlining_row_limit', 10, schema => 'audit')`),
    );
  });
}
