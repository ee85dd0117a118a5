import type { ConnectionDefinition, EmbeddedEngine } from "../engines/embedded-engine.ts";
import { openStop, type Stop } from "../engines/stop.ts";
import { errorMessage } from "../error-message.ts";
import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";
import type { UserSource } from "./authenticator.ts";
import { openDependency } from "./dependency.ts";
import { costOf, parseStoredPassword } from "./password.ts";
import type { SecretUsers, User } from "./policy.ts";
import { usersInSecret } from "./secret-layout.ts";
import { type Environment, openSecretReader, type SecretReader } from "./secret-reader.ts";
import { databaseReason, openSecretTable, type SecretTable } from "./secret-table.ts";
import { passwordWarnings } from "./secret-warnings.ts";

/** The users of a secret. `find` rejects with a RequestFailure. */
export interface SecretUserSource extends UserSource {
  /** The highest cost of a password check, as `costOf` returns it. */
  maxCost(): number;
  /** Startup warnings about passwords that are not securely hashed. */
  readonly warnings: readonly string[];
  close(): void;
}

/** Calls `work` at an interval. Returns a function that stops it. */
export type Every = (ms: number, work: () => Promise<void>) => () => void;

export interface SecretUsersOptions {
  /** Its connections must include the `initConnection` of this block. */
  readonly engine: EmbeddedEngine;
  readonly env: Environment;
  readonly report: Report;
  readonly every?: Every;
  /** For one attempt to reach AWS. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5_000;

/** A connection that runs the `init` of a block. Blocks with the same `init` share it. */
export function initConnection({ init, accessKeyId, secretAccessKey }: SecretUsers): ConnectionDefinition | undefined {
  if (init === undefined) return undefined;
  const secrets = [accessKeyId, secretAccessKey].filter((secret) => secret !== undefined);
  return { name: `from-aws-secretmanager\n${init}`, init, secrets };
}

/** Copies the users of a secret into a table, and refreshes it. Rejects with an Error that names the secret. */
export async function openSecretUsers(config: SecretUsers, options: SecretUsersOptions): Promise<SecretUserSource> {
  try {
    return await openUsers(config, options);
  } catch (error) {
    throw new Error(`${labelOf(config)}: ${errorMessage(error)}`);
  }
}

async function openUsers(
  config: SecretUsers,
  { engine, env, report, every = everyInterval, timeoutMs = TIMEOUT_MS }: SecretUsersOptions,
): Promise<SecretUserSource> {
  await runInit(config, engine);
  const stop = openStop();
  const reader = await openSecretReader(config, { env, timeoutMs });
  try {
    const { versionId, content } = await reader.read();
    const users = usersInSecret(content);
    const table = await openSecretTable(config.table, { engine, signal: stop.signal });
    await table.replace(users);
    return startRefreshing({ config, table, reader, first: { versionId, users }, report, every, stop });
  } catch (error) {
    reader.close();
    throw error;
  }
}

interface RefreshingOptions {
  readonly config: SecretUsers;
  readonly table: SecretTable;
  readonly reader: SecretReader;
  /** The initial content of the table. */
  readonly first: { readonly versionId: string | undefined; readonly users: readonly User[] };
  readonly report: Report;
  readonly every: Every;
  readonly stop: Stop;
}

function startRefreshing({ config, table, reader, first, report, every, stop }: RefreshingOptions): SecretUserSource {
  const label = labelOf(config);
  const dependency = openDependency(label, report);
  let storedVersion = first.versionId;
  let maxCost = maxCostOf(first.users);
  let refreshing: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    try {
      await replaceIfChanged();
      dependency.up();
    } catch (error) {
      reportDown(`${errorMessage(error)}. The users that were read last stay`);
    }
  }

  function reportDown(message: string): void {
    if (!stop.signal.aborted) dependency.down(message);
  }

  async function replaceIfChanged(): Promise<void> {
    const { versionId, content } = await reader.read();
    if (versionId !== undefined && versionId === storedVersion) return;
    const users = usersInSecret(content);
    await table.replace(users);
    maxCost = maxCostOf(users);
    storedVersion = versionId;
  }

  function tick(): Promise<void> {
    refreshing ??= refresh().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  const stopTicking = every(config.refreshMs, tick);
  return {
    maxCost: () => maxCost,
    warnings: passwordWarnings(first.users).map((warning) => `${label}: ${warning}`),
    async find(username) {
      try {
        return await table.find(username);
      } catch (error) {
        if (!(error instanceof RequestFailure) || error.failure.kind !== "query-failed") throw error;
        // If a user dropped the table, the next refresh recreates it. Clients must not see the database's message.
        storedVersion = undefined;
        reportDown(`secret-table ${config.table}: ${databaseReason(error)}. All logins fail until the next refresh`);
        throw new RequestFailure({ kind: "provider-down" });
      }
    },
    close() {
      stopTicking();
      stop.abort(new RequestFailure({ kind: "draining" }));
      reader.close();
    },
  };
}

async function runInit(config: SecretUsers, engine: EmbeddedEngine): Promise<void> {
  const connection = initConnection(config);
  if (connection === undefined) return;
  try {
    await engine.openConnection(connection.name);
  } catch (error) {
    throw new Error(`init failed: ${databaseReason(error)}`);
  }
}

function maxCostOf(users: readonly User[]): number {
  return users.reduce((most, { password }) => Math.max(most, costOf(parseStoredPassword(password))), 0);
}

function labelOf({ secretName }: SecretUsers): string {
  return `secret '${secretName}'`;
}

/** Node treats a longer interval as one millisecond. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const everyInterval: Every = (ms, work) => {
  const timer = setInterval(() => void work(), Math.min(ms, LONGEST_TIMER_MS)).unref();
  return () => clearInterval(timer);
};
