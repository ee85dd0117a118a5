import duckdb from "@duckdb/node-bindings";
import { openDatabase } from "../../src/engines/duckdb/database/open-database.ts";
import { engineOver } from "../../src/engines/duckdb/open-duckdb.ts";
import type { DataVersions } from "../../src/engines/duckdb/session/data-versions.ts";
import type { EmbeddedEngine, EngineOptions } from "../../src/engines/embedded-engine.ts";
import type { Read } from "../../src/engines/engine.ts";
import type { Rows } from "../../src/engines/rows.ts";
import { RequestFailure } from "../../src/failure.ts";
import type { Chunk, Vector } from "../../src/result/chunk.ts";
import type { ColumnType } from "../../src/result/column.ts";
import { type Statement, statement } from "../../src/sql/statement.ts";
import { testSettings } from "../odd-settings.ts";

export interface TestEngine extends AsyncDisposable {
  readonly engine: EmbeddedEngine;
  readonly versions: DataVersions;
  /** Runs SQL on its own connection, and invalidates all cached tables, or these. */
  sql(text: string, tables?: readonly string[]): Promise<void>;
  /** The same without invalidating anything. */
  secretly(text: string): Promise<void>;
  /** Reads, and returns the rows as arrays. */
  read(
    read: Partial<Omit<Read, "statements">> & { readonly statements: readonly Statement[] | string },
  ): Promise<Answer>;
}

export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly total: number | undefined;
}

export interface TestEngineOptions extends Partial<EngineOptions> {
  /** Settings of the project. */
  readonly settings?: ReadonlyMap<string, string>;
}

/** An engine over a database in memory, on which `setup` has run. */
export async function testEngine(
  setup = "",
  { settings = testSettings, ...options }: TestEngineOptions = {},
): Promise<TestEngine> {
  const opened = await openDatabase(undefined, new Map([["threads", "2"], ...settings]));
  const connection = await duckdb.connect(opened.database);
  const secretly = async (text: string): Promise<void> => {
    await duckdb.query(connection, text);
  };
  const sql = async (text: string, tables?: readonly string[]): Promise<void> => {
    await secretly(text).finally(opened.versions.beginWrite(tables ?? "all"));
  };
  if (setup !== "") await sql(setup);
  const engine = engineOver(opened, { connections: [], maxConcurrentQueries: 4, maxQueued: 1000, ...options });
  return {
    engine,
    versions: opened.versions,
    sql,
    secretly,
    async read(read) {
      return await answerOf(await engine.read(readOf(read)));
    },
    async [Symbol.asyncDispose]() {
      duckdb.disconnect_sync(connection);
      await engine.close();
    },
  };
}

/** A read of everything, with overrides. */
export function readOf(
  read: Partial<Omit<Read, "statements">> & { readonly statements: readonly Statement[] | string },
): Read {
  const { statements } = read;
  return {
    connections: [],
    window: undefined,
    totalOf: undefined,
    signal: new AbortController().signal,
    ...read,
    statements: typeof statements === "string" ? [statement(statements)] : statements,
  };
}

export { statement };

/** A page with its total, as a paginated endpoint asks for it. */
export function pageOf(statements: readonly Statement[], limit: number, offset = 0): Read {
  return readOf({ statements, window: { limit, offset }, totalOf: statements });
}

export async function answerOf(rows: Rows): Promise<Answer> {
  const all: unknown[][] = [];
  for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next()) {
    for (let row = 0; row < chunk.rows; row++) all.push(valuesOf(rows, chunk, row));
  }
  return { columns: rows.columns.map(({ name }) => name), rows: all, total: rows.total };
}

function valuesOf(rows: Rows, chunk: Chunk, row: number): unknown[] {
  return rows.columns.map(({ type }, index) => cellOf(chunk.vectors[index], type, row));
}

/** Enough for tests: whole numbers, booleans and texts. */
function cellOf(vector: Vector | undefined, type: ColumnType, row: number): unknown {
  if (vector === undefined) throw new Error("no such column");
  const { validity } = vector;
  if (validity !== undefined && (((validity[row >> 3] ?? 0) >> (row & 7)) & 1) === 0) return null;
  if (vector.layout === "bytes") {
    const start = vector.starts[row] ?? 0;
    return Buffer.from(vector.bytes.subarray(start, start + (vector.lengths[row] ?? 0))).toString("utf8");
  }
  if (vector.layout !== "fixed") throw new Error(`the test does not read ${vector.layout} vectors`);
  const view = new DataView(vector.data.buffer, vector.data.byteOffset, vector.data.byteLength);
  switch (type.kind) {
    case "boolean":
      return view.getUint8(row) === 1;
    case "float":
      return view.getFloat64(row * 8, true);
    case "integer":
      return type.bits === 32 ? view.getInt32(row * 4, true) : Number(view.getBigInt64(row * 8, true));
    default:
      throw new Error(`the test does not read ${type.kind}`);
  }
}

/** The failure with which something rejects. */
export async function failureOf(work: Promise<unknown>): Promise<RequestFailure> {
  try {
    await work;
  } catch (error) {
    if (error instanceof RequestFailure) return error;
    throw error;
  }
  throw new Error("it did not fail");
}
