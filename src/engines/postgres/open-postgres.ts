import { openLru } from "../../bounded/lru.ts";
import { RequestFailure } from "../../failure.ts";
import { messageMask } from "../../secrets.ts";
import { effectsOf } from "../../sql/classify.ts";
import { quoteIdentifier } from "../../sql/quote.ts";
import type { Engine, Read, StopSignal, Write } from "../engine.ts";
import { type Cancellation, cancellationOf } from "../queue/cancellation.ts";
import { openSlots } from "../queue/slots.ts";
import type { RemoteConnection } from "../remote-engine.ts";
import { NEVER_STOPPED } from "../stop.ts";
import { postgresDialect } from "./dialect.ts";
import { explainStatements } from "./explain.ts";
import { down, failureOf, isOutdatedPlan, isUnreachable } from "./failures.ts";
import { identitySteps } from "./identity.ts";
import { readOptions } from "./options.ts";
import { type Planned, parseStatements, planStatements } from "./plan.ts";
import { initCommands, openPool } from "./pool.ts";
import { WrongTypes } from "./prepare.ts";
import { readRows } from "./read.ts";
import { openSession, type Session, type Step } from "./session.ts";
import { transactionProblem } from "./transactions.ts";
import { OutdatedType } from "./types/types.ts";
import type { QueryForms } from "./window.ts";
import { openConnector } from "./wire/connect.ts";
import { openMessageWriter } from "./wire/messages.ts";
import { runWrite, type WriteContext } from "./write.ts";
import { openRecords } from "./write-once.ts";

/** What a session is for. */
type Job = Pick<Read, "connections" | "queueGroup" | "signal" | "onStart">;

const FORMS_BYTES = 4 * 1024 * 1024;
/** A message holds one row: so many values of the maximum length, and what is around them. */
const VALUES_PER_MESSAGE = 16;
const MESSAGE_BYTES = 1024 * 1024;
/** How often a statement is prepared again with other types, or after a change of its tables. */
const MAX_REPEATS = 8;

/** Values as text do not depend on the server's settings, and times are the same as in the embedded engine. */
const SETTINGS: ReadonlyMap<string, string> = new Map([
  ["standard_conforming_strings", "on"],
  ["client_encoding", "'UTF8'"],
  ["DateStyle", "'ISO, YMD'"],
  ["IntervalStyle", "'iso_8601'"],
  ["TimeZone", "'UTC'"],
  ["bytea_output", "'hex'"],
  ["extra_float_digits", "1"],
]);

/** The engine of one connection to Postgres. It connects when it is first needed. */
export function openPostgres(connection: RemoteConnection): Engine {
  const { name, maxValueBytes, maxConcurrency, maxQueued, readOnly } = connection;
  const options = readOptions(connection.options);
  const { keepsSessions, schema, roleClaim } = options;
  const mask = messageMask(connection.secrets);
  const settings = new Map([
    ...SETTINGS,
    ...(schema === undefined ? [] : [["search_path", quoteIdentifier(schema)] as const]),
  ]);
  const connector = openConnector({
    address: options.address,
    timeoutMs: connection.connectTimeoutMs,
    maxMessageBytes: () => maxValueBytes * VALUES_PER_MESSAGE + MESSAGE_BYTES,
    readFile: connection.readFile,
  });
  const setup = keepsSessions
    ? [...set(settings, ""), ...initCommands(connection.init), "SET default_transaction_read_only = on"]
    : initCommands(connection.init);
  const pool = openPool({ connector, setup, keepsSessions });
  const slots = openSlots({
    size: Math.min(options.pool, maxConcurrency ?? options.pool),
    maxWaiting: maxQueued,
    isRemote: () => true,
  });
  const forms: QueryForms = {
    window: openLru({ maxBytes: FORMS_BYTES }),
    count: openLru({ maxBytes: FORMS_BYTES }),
    fullPages: openLru({ maxBytes: FORMS_BYTES }),
  };
  /** Where sessions keep nothing, each transaction has its own settings. */
  const localSettings: readonly Step[] = keepsSessions ? [] : set(settings, "LOCAL ").map((run) => ({ run }));
  const records = openRecords(name, readOnly);
  const active = new Set<Cancellation>();
  let isOpened = false;
  let isClosing = false;

  function openCancellation(signal: StopSignal): Cancellation {
    if (isClosing) throw new RequestFailure({ kind: "draining" });
    const cancellation: Cancellation = cancellationOf(signal, () => active.delete(cancellation));
    active.add(cancellation);
    return cancellation;
  }

  /** Waits for a slot and a connection. */
  async function enter(job: Job): Promise<Session> {
    const cancellation = openCancellation(job.signal);
    try {
      const request = slots.request(job);
      await slots.enter(request, cancellation);
      const leave = (): void => {
        slots.leave(request);
        slots.release(request);
      };
      try {
        job.onStart?.();
        const link = await pool.take();
        isOpened = true;
        return openSession(link, cancellation, leave);
      } catch (error) {
        leave();
        throw isUnreachable(error) || !(error instanceof RequestFailure) ? down(name, mask(messageOf(error))) : error;
      }
    } catch (error) {
      cancellation.end();
      throw error;
    }
  }

  /** Runs work in a session. The work ends the session when it succeeds. */
  async function inSession<T>(
    job: Job,
    work: (session: Session, toFailure: (error: unknown) => RequestFailure) => Promise<T>,
  ): Promise<T> {
    const session = await enter(job);
    const toFailure = (error: unknown): RequestFailure =>
      failureOf(error, {
        connection: name,
        mask,
        statement: session.lastStatement(),
        maxValueBytes,
        hasCallersRole: roleClaim !== undefined,
      });
    try {
      return await repeatIfOutdated(session, () => work(session, toFailure));
    } catch (error) {
      await session.end();
      throw toFailure(error);
    }
  }

  /** The same for work that leaves the session to its caller. */
  function runInSession<T>(job: Job, work: (session: Session) => Promise<T>): Promise<T> {
    return inSession(job, async (session) => {
      const result = await work(session);
      await session.end();
      return result;
    });
  }

  const preambleOf = ({ caller }: Pick<Read, "caller">): readonly Step[] => [
    ...localSettings,
    ...identitySteps(caller?.(), roleClaim),
  ];

  const writeContext = (write: Write, session: Session): WriteContext => ({
    session,
    preamble: preambleOf(write),
    keepsSessions,
    isReadOnly: readOnly,
  });

  async function plan(statements: readonly Parameters<Engine["plan"]>[0][number][]): Promise<Planned> {
    const changing = readOnly
      ? effectsOf(
          statements.map(({ sql }) => sql),
          postgresDialect,
        ).findIndex(({ kind }) => kind === "changes")
      : -1;
    if (changing >= 0) {
      const message = `connection '${name}' is read-only`;
      return { problem: { kind: "names", message, statement: changing, offset: undefined } };
    }
    return await runInSession(OWN_JOB, (session) => planStatements(statements, session));
  }

  return {
    dialect: postgresDialect,
    async openConnection() {
      await inSession(OWN_JOB, (session) => session.end());
    },
    canProbe: () => isOpened && !isClosing,
    async probe() {
      try {
        const link = await pool.take();
        try {
          await link.exchange(
            openMessageWriter().parse("", "SELECT 1", []).bind("", [], []).execute(0).sync().take(),
            {},
          );
        } finally {
          link.release();
        }
      } catch (error) {
        throw down(name, mask(messageOf(error)));
      }
    },
    freeSlots: slots.free,
    async parse(sql) {
      if (!isOpened) return undefined;
      return await runInSession(OWN_JOB, (session) => parseStatements(sql, session));
    },
    plan: async (statements) => (await plan(statements)).problem,
    async describe(statements) {
      const planned = await plan(statements);
      return planned.problem === undefined ? planned.columns : undefined;
    },
    // Other programs change its tables too.
    watchSchema: () => () => false,
    read: (read) =>
      inSession(read, (session, toFailure) =>
        readRows(read, {
          session,
          forms,
          maxValueBytes,
          keepsSessions,
          preamble: preambleOf(read),
          failureOf: toFailure,
        }),
      ),
    write: (write) => runInSession(write, (session) => runWrite(write, writeContext(write, session))),
    writeOnce: (write, once) =>
      runInSession(write, (session) => records.runOnce(write, once, writeContext(write, session))),
    recordStore: () => runInSession(OWN_JOB, records.store),
    writeProblem: (statements, transaction) =>
      Promise.resolve(transaction ? transactionProblem(statements) : undefined),
    explain: (query) =>
      runInSession(query, (session) => explainStatements(query, { session, forms, preamble: preambleOf(query) })),
    activity: () => ({ running: slots.running(), waiting: slots.waiting() }),
    close() {
      isClosing = true;
      for (const cancellation of [...active]) cancellation.cancel(new RequestFailure({ kind: "draining" }));
      pool.close();
      return Promise.resolve();
    },
  };
}

const OWN_JOB: Job = { connections: [], signal: NEVER_STOPPED };

function set(settings: ReadonlyMap<string, string>, scope: "" | "LOCAL "): readonly string[] {
  return [...settings].map(([key, value]) => `SET ${scope}${key} = ${value}`);
}

function messageOf(error: unknown): string {
  if (error instanceof RequestFailure && error.cause instanceof Error) return error.cause.message;
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

/** Runs work again if statements were prepared with the wrong types, or their tables have changed since. */
async function repeatIfOutdated<T>(session: Session, work: () => Promise<T>): Promise<T> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await work();
    } catch (error) {
      const isOutdated = isOutdatedPlan(error) || error instanceof OutdatedType;
      if (repeats >= MAX_REPEATS || !(isOutdated || error instanceof WrongTypes)) throw error;
      if (isOutdated) session.forgetPrepared();
      await session.rollback();
    }
  }
}
