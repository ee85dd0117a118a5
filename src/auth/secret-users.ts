import type { ConnectionDefinition, Engine } from "../engines/engine.ts";
import { openStop, type Stop } from "../engines/stop.ts";
import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";
import type { UserSource } from "./authenticator.ts";
import { costOf, passwordShape } from "./password.ts";
import type { SecretUsers, User } from "./policy.ts";
import { usersInSecret } from "./secret-layout.ts";
import { type Environment, openSecretReader, type SecretReader } from "./secret-reader.ts";
import { databaseReason, openSecretTable, type SecretTable } from "./secret-table.ts";
import { passwordWarnings } from "./secret-warnings.ts";

/** The users of a secret. `find` rejects with a RequestFailure. */
export interface SecretUserSource extends UserSource {
  /** What the dearest check of a password costs, as `costOf` gives it. */
  dearest(): number;
  /** What the start warns of: passwords that are no good hashes. Spec 5.1. */
  readonly warnings: readonly string[];
  close(): void;
}

/** Calls something again and again until what it returns is called. */
export type Every = (ms: number, work: () => Promise<void>) => () => void;

export interface SecretUsersOptions {
  /** Opened with `initConnection` of the same block among its connections. */
  readonly engine: Engine;
  readonly env: Environment;
  readonly report: Report;
  readonly every?: Every;
  /** How long AWS may take for one attempt. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5_000;

/** The `init` of a block as the engine runs it: once, whoever else has the same. */
export function initConnection({ init, accessKeyId, secretAccessKey }: SecretUsers): ConnectionDefinition | undefined {
  if (init === undefined) return undefined;
  const secrets = [accessKeyId, secretAccessKey].filter((secret) => secret !== undefined);
  return { name: `from-aws-secretmanager\n${init}`, init, secrets };
}

/** Users from a secret, put into a table and kept up to date. Rejects with an Error that names the secret. Spec 5.4. */
export async function openSecretUsers(config: SecretUsers, options: SecretUsersOptions): Promise<SecretUserSource> {
  try {
    return await openUsers(config, options);
  } catch (error) {
    throw new Error(`${partOf(config)}: ${error instanceof Error ? error.message : "it cannot be used"}`);
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
    return refreshed({ config, table, reader, first: { versionId, users }, report, every, stop });
  } catch (error) {
    reader.close();
    throw error;
  }
}

interface Refreshing {
  readonly config: SecretUsers;
  readonly table: SecretTable;
  readonly reader: SecretReader;
  /** What is in the table. */
  readonly first: { readonly versionId: string | undefined; readonly users: readonly User[] };
  readonly report: Report;
  readonly every: Every;
  readonly stop: Stop;
}

function refreshed({ config, table, reader, first, report, every, stop }: Refreshing): SecretUserSource {
  const dependency = partOf(config);
  let version = 0;
  let stored = first.versionId;
  let dearest = dearestOf(first.users);
  let down = false;
  let running: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    try {
      await replaceIfChanged();
      if (down) report({ kind: "dependency-up", dependency });
      down = false;
    } catch (error) {
      goDown(`${error instanceof Error ? error.message : "it cannot be used"}. The users that were read last stay`);
    }
  }

  function goDown(message: string): void {
    if (down || stop.signal.aborted) return;
    down = true;
    report({ kind: "dependency-down", dependency, message });
  }

  async function replaceIfChanged(): Promise<void> {
    const { versionId, content } = await reader.read();
    if (versionId !== undefined && versionId === stored) return;
    const users = usersInSecret(content);
    await table.replace(users);
    dearest = dearestOf(users);
    stored = versionId;
    version += 1;
  }

  function tick(): Promise<void> {
    // Somebody may have changed the table by hand: they wait for one period at most.
    version += 1;
    running ??= refresh().finally(() => {
      running = undefined;
    });
    return running;
  }

  const stopTicking = every(config.refreshMs, tick);
  return {
    version: () => version,
    dearest: () => dearest,
    warnings: passwordWarnings(first.users).map((warning) => `${dependency}: ${warning}`),
    async find(username) {
      try {
        return await table.find(username);
      } catch (error) {
        if (!(error instanceof RequestFailure) || error.failure.kind !== "query-failed") throw error;
        // Somebody may have dropped the table: the next refresh makes it again. What the database says is not for strangers.
        stored = undefined;
        goDown(`secret-table ${config.table}: ${databaseReason(error)}. Nobody is let in until the next refresh`);
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

async function runInit(config: SecretUsers, engine: Engine): Promise<void> {
  const connection = initConnection(config);
  if (connection === undefined) return;
  try {
    await engine.openConnection(connection.name);
  } catch (error) {
    throw new Error(`init failed: ${databaseReason(error)}`);
  }
}

function dearestOf(users: readonly User[]): number {
  return users.reduce((most, { password }) => Math.max(most, costOf(passwordShape(password))), 0);
}

function partOf({ secretName }: SecretUsers): string {
  return `secret '${secretName}'`;
}

/** More than this a timer takes for one millisecond. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const everyInterval: Every = (ms, work) => {
  const timer = setInterval(() => void work(), Math.min(ms, LONGEST_TIMER_MS)).unref();
  return () => clearInterval(timer);
};
