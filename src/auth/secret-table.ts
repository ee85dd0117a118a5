import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import type { StopSignal } from "../engines/engine.ts";
import type { Rows } from "../engines/rows.ts";
import { errorMessage } from "../error-message.ts";
import { RequestFailure } from "../failure.ts";
import { type Chunk, isValid, type Vector } from "../result/chunk.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import type { BoundValue, Statement } from "../sql/statement.ts";
import type { UserEntry } from "./authenticator.ts";
import type { User } from "./policy.ts";

/** The users of a secret, in a table of the database. */
export interface SecretTable {
  /** Replaces all users, or changes nothing. Rejects with an Error that quotes none of them. */
  replace(users: readonly User[]): Promise<void>;
  /** Rejects with a RequestFailure. */
  find(username: string): Promise<UserEntry | undefined>;
}

export interface SecretTableOptions {
  readonly engine: EmbeddedEngine;
  readonly signal: StopSignal;
}

/** Creates the table and its schema if they are missing. Rejects with an Error if the table cannot be used. */
export async function openSecretTable(name: string, { engine, signal }: SecretTableOptions): Promise<SecretTable> {
  const path = tablePath(name);
  const table = quotePath(path);

  function read(query: Statement): Promise<Rows> {
    const window = { limit: 2, offset: 0 };
    return engine.read({ connections: [], statements: [query], window, totalOf: undefined, signal });
  }

  async function change(statements: readonly Statement[]): Promise<void> {
    await engine.write({ connections: [], statements, transaction: true, returnsData: false, signal });
  }

  /** Returns the statements, which are repeated in case the table is dropped later. */
  async function create(): Promise<readonly Statement[]> {
    const statements = [
      ...(await schemaFor(path, read)),
      statement(`CREATE TABLE IF NOT EXISTS ${table} (${COLUMNS})`),
    ];
    await change(statements);
    return statements;
  }

  async function checkColumns(): Promise<void> {
    const rows = await read(statement(`SELECT * FROM ${table}`));
    await rows.close();
    const types = rows.columns.map(({ name, type }) =>
      type.kind === "list" ? `${name} ${type.item.kind}[]` : `${name} ${type.kind}`,
    );
    // A table with other columns contains other data, which would be deleted.
    if (types.join() !== "username text,password text,roles text[]") {
      throw new Error(`it already exists with columns other than ${COLUMNS}; name another table`);
    }
  }

  let createStatements: readonly Statement[];
  try {
    createStatements = await create();
    await checkColumns();
  } catch (error) {
    throw new Error(`secret-table ${name}: ${databaseReason(error)}`);
  }

  return {
    async replace(users) {
      try {
        await change([
          ...createStatements,
          statement(`DELETE FROM ${table}`),
          ...users.map((user) => insertion(table, user)),
        ]);
      } catch (error) {
        // The database's message may quote the row.
        const kind = error instanceof RequestFailure ? error.failure.kind : "internal";
        throw new Error(`its users cannot be written into secret-table ${name} (${kind})`);
      }
    },
    async find(username) {
      // `encode` compares bytes, because a collation may ignore case. `username = $1` lets an attached database use an index.
      const isUser = "username = $1 AND encode(username) = encode($1)";
      const query = statement(`SELECT username, password, roles FROM ${table} WHERE ${isUser}`, text(username));
      const rows = await read(query);
      const chunk = await rows.next();
      await rows.close();
      return chunk && entryIn(chunk, username);
    },
  };
}

const COLUMNS = "username VARCHAR, password VARCHAR, roles VARCHAR[]";

const PART = /(?:([\p{L}_][\p{L}\p{N}_$]*)|"((?:[^"\p{Cc}]|"")+)")(?:\.|$)/uy;
const MAX_PARTS = 3;

/** The parts of a name such as `users`, `auth.users` or `"my users"`. Throws for anything else. */
export function tablePath(name: string): readonly string[] {
  const parts: string[] = [];
  let at = 0;
  while (at < name.length) {
    PART.lastIndex = at;
    const [all, plain, inQuotes] = PART.exec(name) ?? [];
    if (all === undefined) break;
    parts.push(plain ?? (inQuotes ?? "").replaceAll('""', '"'));
    at = PART.lastIndex;
  }
  if (at < name.length || parts.length === 0 || parts.length > MAX_PARTS || name.endsWith(".")) {
    throw new Error(`secret-table is not the name of a table; write users, auth.users or "my users"`);
  }
  return parts;
}

function quotePath(path: readonly string[]): string {
  return path.map(quoteIdentifier).join(".");
}

/**
 * The statements that create the schema. None if, in `a.b`, `a` is an attached database: a schema with the same name would make
 * `a` ambiguous.
 */
async function schemaFor(
  path: readonly string[],
  read: (query: Statement) => Promise<Rows>,
): Promise<readonly Statement[]> {
  const [first = ""] = path;
  if (path.length === 1) return [];
  if (path.length === 2) {
    const sql = "SELECT 1 FROM information_schema.schemata WHERE encode(lower(catalog_name)) = encode(lower($1))";
    const rows = await read(statement(sql, text(first)));
    const found = await rows.next();
    await rows.close();
    if (found !== undefined) return [];
  }
  return [statement(`CREATE SCHEMA IF NOT EXISTS ${quotePath(path.slice(0, -1))}`)];
}

/** One placeholder per role, because a role may contain any separator. */
function insertion(table: string, { username, password, roles }: User): Statement {
  const list = roles.map((_, index) => `$${index + 3}`).join(", ");
  return statement(
    `INSERT INTO ${table} VALUES ($1, $2, [${list}]::VARCHAR[])`,
    text(username),
    text(password),
    ...roles.map(text),
  );
}

/** Undefined if two rows have this name, because Eider must not choose one. */
function entryIn({ rows, vectors }: Chunk, username: string): UserEntry | undefined {
  const [names, passwords, roles] = vectors;
  if (rows !== 1 || names === undefined || passwords === undefined || roles === undefined) return undefined;
  // With its collation, the database may compare less strictly.
  if (textAt(names, 0) !== username) return undefined;
  const password = textAt(passwords, 0);
  return password === undefined ? undefined : { password, roles: textsAt(roles, 0) };
}

function textAt(vector: Vector, row: number): string | undefined {
  if (vector.layout !== "bytes") throw new Error("expected a column of type text");
  if (!isValid(vector.validity, row)) return undefined;
  const start = vector.starts[row] ?? 0;
  return Buffer.from(vector.bytes.subarray(start, start + (vector.lengths[row] ?? 0))).toString();
}

function textsAt(vector: Vector, row: number): readonly string[] {
  if (vector.layout !== "list" || !isValid(vector.validity, row)) return [];
  const { starts, lengths, child } = vector;
  const start = starts[row] ?? 0;
  return Array.from({ length: lengths[row] ?? 0 }, (_, index) => textAt(child, start + index)).filter(
    (role) => role !== undefined,
  );
}

/** The database's message, on one line. */
export function databaseReason(error: unknown): string {
  const cause = error instanceof RequestFailure ? (error.cause ?? error) : error;
  return errorMessage(cause).replace(/\s+/g, " ");
}

function statement(sql: string, ...values: readonly BoundValue[]): Statement {
  return { sql, values };
}

function text(value: string): BoundValue {
  return { type: "VARCHAR", value };
}
