import { RequestFailure } from "../../failure.ts";
import type { Write } from "../engine.ts";
import type { RecordStore, WriteOnce, WriteOnceResult } from "../write-once.ts";
import { textRow } from "./prepare.ts";
import type { Session, Step } from "./session.ts";
import { PostgresError } from "./wire/postgres-error.ts";
import { accepted, beginSteps, NOTHING, resultOf, retryConflicts, runStatements, type WriteContext } from "./write.ts";

/** The same table that a write through DuckDB uses. */
const RECORDS = "eider_idempotency_keys";

const CREATE =
  `CREATE TABLE IF NOT EXISTS ${RECORDS} ` +
  "(id varchar PRIMARY KEY, request varchar, changed bigint, response varchar, since bigint)";

/** Whether the table exists, or the role may create it. */
const MAY_RECORD =
  `SELECT (to_regclass('${RECORDS}') IS NOT NULL OR (current_schema() IS NOT NULL AND ` +
  "has_schema_privilege(current_schema(), 'CREATE')))::text";

const KEEP_ROLE: Step = { run: "SELECT set_config('eider.own_role', current_setting('role'), true)" };
const RESTORE_ROLE: Step = { run: "SELECT set_config('role', current_setting('eider.own_role'), true)" };

const CLEAN_EVERY_MS = 60 * 60 * 1000;

/** The table of records in the database of one connection. */
export interface Records {
  store(session: Session): Promise<RecordStore>;
  runOnce(write: Write, once: WriteOnce, context: WriteContext): Promise<WriteOnceResult>;
}

export function openRecords(connection: string, isReadOnly: boolean): Records {
  let cleanedAt: number | undefined;

  /** Creates the table if it is missing, and deletes expired records when that was not done for an hour. */
  async function open(session: Session, once: WriteOnce): Promise<void> {
    if (cleanedAt !== undefined && Math.abs(once.now - cleanedAt) <= CLEAN_EVERY_MS) return;
    try {
      await session.run([{ run: "BEGIN READ WRITE" }, { run: CREATE }, { run: "COMMIT" }]);
    } catch (error) {
      await session.rollback();
      // Two replicas may create it at the same time.
      if (!(error instanceof PostgresError) || !/^(?:23505|42P07|42710)$/.test(error.code)) throw keyRefused(error);
    }
    const expired: Step = {
      run: `DELETE FROM ${RECORDS} WHERE since < $1::bigint`,
      values: [String(Math.floor(once.oldest))],
    };
    await session.run([{ run: "BEGIN READ WRITE" }, expired, { run: "COMMIT" }]);
    cleanedAt = once.now;
  }

  return {
    async store(session) {
      const none = (reason: string): RecordStore => ({ kind: "none", reason });
      if (isReadOnly) return none(`connection '${connection}' is read-only`);
      let may: string | null | undefined;
      await session.run([
        {
          run: MAY_RECORD,
          onRow(bytes, start) {
            [may] = textRow(bytes, start);
          },
        },
      ]);
      return may === "true"
        ? { kind: "database", name: connection, type: "postgres" }
        : none(`the user of connection '${connection}' may not create the table ${RECORDS}`);
    },
    async runOnce(write, once, context) {
      // A record of each committed statement would be needed.
      if (!write.transaction && write.statements.length > 1) throw new RequestFailure({ kind: "key-refused" });
      await open(context.session, once);
      return await retryConflicts(context.session, () => runRecorded(write, once, context));
    },
  };
}

/** Runs all statements and adds the record in one transaction. */
async function runRecorded(write: Write, once: WriteOnce, context: WriteContext): Promise<WriteOnceResult> {
  const { session } = context;
  await session.run(beginSteps({ ...context, preamble: [] }));
  const recorded = await findRecord(session, once);
  if (recorded !== undefined) {
    await session.rollback();
    if (recorded.request !== once.request) throw new RequestFailure({ kind: "key-reused" });
    return { response: recorded.response, rowsAffected: recorded.changed, ran: false };
  }
  // The caller's role may not use the table of records.
  const hasIdentity = context.preamble.length > 0;
  if (hasIdentity) await session.run([KEEP_ROLE, ...context.preamble]);
  const results = await runStatements(write.statements, NOTHING, session);
  accepted(results, write);
  const response = await once.encode(resultOf(results, write), undefined);
  const values = [once.id, once.request, String(results.affected), response, String(Math.floor(once.now))];
  const add: Step = { run: `INSERT INTO ${RECORDS} VALUES ($1, $2, $3::bigint, $4, $5::bigint)`, values };
  await session.run([...(hasIdentity ? [RESTORE_ROLE] : []), add, { run: "COMMIT" }]);
  return { response, rowsAffected: results.affected, ran: true };
}

interface RecordRow {
  readonly request: string;
  readonly changed: number;
  readonly response: string;
}

/** Waits for other requests with the same key, at this replica or another, then looks for their record. */
async function findRecord(session: Session, { id, oldest }: WriteOnce): Promise<RecordRow | undefined> {
  let found: RecordRow | undefined;
  const since = String(Math.floor(oldest));
  await session.run([
    { run: "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", values: [id] },
    { run: `DELETE FROM ${RECORDS} WHERE id = $1 AND since < $2::bigint`, values: [id, since] },
    {
      run: `SELECT request, changed::text, response FROM ${RECORDS} WHERE id = $1`,
      values: [id],
      onRow(bytes, start) {
        const [request, changed, response] = textRow(bytes, start);
        found = { request: request ?? "", changed: Number(changed), response: response ?? "" };
      },
    },
  ]);
  return found;
}

function keyRefused(error: unknown): unknown {
  const isForbidden = error instanceof PostgresError && /^(?:42501|25006|3F000)$/.test(error.code);
  return isForbidden ? new RequestFailure({ kind: "key-refused" }, { cause: new Error(error.message) }) : error;
}
