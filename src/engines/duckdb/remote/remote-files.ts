import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import { isCredentialName, messageMask, redactUrl } from "../../../secrets.ts";
import type { Statement } from "../../../sql/statement.ts";
import { withTimeLimit } from "../../../time-limit.ts";
import type { RemoteOptions, TextRows } from "../../embedded-engine.ts";
import type { RemoteFiles, RemoteListing, RemoteText } from "../../remote-files.ts";
import { openDatabase } from "../database/open-database.ts";
import { withoutSql } from "../messages.ts";
import { inspect } from "../plan/inspect.ts";
import { ExtensionError, remoteProblem, statusOf } from "./remote-problem.ts";
import { secretStatements } from "./secret-statements.ts";

/** Larger files are unlikely to be templates. */
const MAX_BYTES = 1_048_576;
const MAX_FILES = 10_000;
/** Time limit of one attempt to reach a server, in seconds. DuckDB makes two. */
const ATTEMPT_TIMEOUT_S = 5;
/** Time limit of one query, including all attempts. Reading a file takes two queries. */
const QUERY_TIMEOUT_MS = 20_000;

/** The extension that reads each scheme. Those for other schemes can be loaded in an `init`. */
const SCHEMES = [
  ["httpfs", /^(?:https?|s3|s3a|s3n|gs|gcs|r2|hf):/i],
  ["azure", /^(?:az|azure|abfss?):/i],
] as const;
const UNKNOWN_SCHEME = "its scheme is not supported; use https, s3, gs, r2, az, abfss or hf";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads files through DuckDB's file systems, in a separate database, because a project is read before the database of the
 * service is open. From each `init`, it runs only what access to files may depend on (`secretStatements`). Rejects with an
 * EngineOpenError.
 */
export async function openRemoteFiles({ settings, connections, linkFiles }: RemoteOptions): Promise<RemoteFiles> {
  const { database, settings: session } = await openDatabase(undefined, remoteSettings(settings), { linkFiles });
  const mask = messageMask([
    ...connections.flatMap(({ secrets }) => secrets),
    ...[...settings].flatMap(([name, value]) => (isCredentialName(name) ? value : [])),
  ]);
  const extensions = new Map<string, Promise<void>>();
  /** Servers that did not respond, and why. */
  const unresponsive = new Map<string, string>();
  /** Messages about secrets that could not be created. */
  const failedSecrets: string[] = [];
  let secrets: Promise<void> | undefined;
  let running = 0;

  /** Runs work on a new connection. Work that takes too long is abandoned, because DuckDB may be waiting for a server. */
  async function run<T>(work: (connection: duckdb.Connection) => Promise<T>): Promise<T> {
    const connection = await duckdb.connect(database);
    running++;
    const done = work(connection).finally(() => {
      running--;
      duckdb.disconnect_sync(connection);
    });
    return await withTimeLimit(done, QUERY_TIMEOUT_MS, () => {
      duckdb.interrupt(connection);
      throw new Error(`timeout: no response within ${QUERY_TIMEOUT_MS / 1000} s`);
    });
  }

  async function load(extension: string): Promise<void> {
    await run(async (connection) => {
      for (const sql of [`INSTALL ${extension}`, `LOAD ${extension}`]) await duckdb.query(connection, sql);
      if (extension !== "httpfs") return;
      for (const setting of [`http_timeout = ${ATTEMPT_TIMEOUT_S}`, "http_retries = 1"]) {
        // A project may have locked its settings. Then only QUERY_TIMEOUT_MS applies.
        await duckdb.query(connection, `SET GLOBAL ${setting}`).catch(() => {});
      }
    }).catch((error: unknown) => {
      throw new ExtensionError(extension, withoutSql(errorMessage(error)));
    });
  }

  async function createSecrets(): Promise<void> {
    await Promise.all(
      connections.map(({ name, init = "" }) =>
        run(async (connection) => {
          for (const { sql, isSetting } of secretStatements(init)) {
            try {
              await duckdb.query(connection, sql);
              if (isSetting) session.add(sql, 0);
            } catch (error) {
              // A setting may depend on a database that is not attached here.
              if (!isSetting) failedSecrets.push(failedSecret(name, mask(errorMessage(error))));
            }
          }
        }).catch((error: unknown) => failedSecrets.push(failedSecret(name, errorMessage(error)))),
      ),
    );
  }

  /** Runs a query that accesses an address, after loading the extension and the secrets for it. Binds `value` to `$1`. */
  async function query(address: string, sql: string, value = address): Promise<TextRows> {
    const extension = extensionOf(address);
    if (extension !== undefined) {
      const loading = extensions.get(extension) ?? load(extension);
      extensions.set(extension, loading);
      await loading;
    }
    secrets ??= createSecrets();
    await secrets;
    return await run(async (connection) => {
      await session.apply(connection, 0);
      const statement: Statement = { sql, values: [{ type: "VARCHAR", value }] };
      return await inspect(connection, statement).catch(async (error: unknown) => {
        // If a request for part of a file is rejected, DuckDB reports no status. A request for the whole file shows it.
        if (!/\(HTTP 0\b/.test(errorMessage(error))) throw error;
        await duckdb.query(connection, "SET force_download = true");
        return await inspect(connection, statement);
      });
    });
  }

  /** The result for a failed query: `absent` if the file or folder does not exist. */
  function failureOf(error: unknown, address: string): Exclude<RemoteText, { kind: "text" }> {
    if (error instanceof ExtensionError) return unreadable(error.message);
    const message = withoutSql(errorMessage(error));
    if (statusOf(message) === 404) return { kind: "absent" };
    const maskAddress = messageMask(possibleCredentials(address));
    const masked = maskAddress(mask(message.replaceAll(address, redactUrl(address))));
    const { reason, isUnresponsive } = remoteProblem(masked, failedSecrets);
    if (isUnresponsive) unresponsive.set(serverOf(address), reason);
    return unreadable(reason);
  }

  async function readText(address: string): Promise<RemoteText> {
    const sizes = await query(address, "SELECT size::VARCHAR FROM read_blob($1)");
    if (sizes.length === 0) {
      const isKnown = extensionOf(address) !== undefined || /^file:/i.test(address);
      return isKnown ? { kind: "absent" } : unreadable(UNKNOWN_SCHEME);
    }
    if (sizes.length > 1) return unreadable(`it matches ${sizes.length} files; name one`);
    if (Number(sizes[0]?.[0]) > MAX_BYTES) return unreadable("it is larger than 1 MiB");
    const [[content] = []] = await query(address, "SELECT to_base64(content) FROM read_blob($1)");
    try {
      return { kind: "text", text: utf8.decode(Buffer.from(content ?? "", "base64")) };
    } catch {
      return unreadable("it is not UTF-8 text");
    }
  }

  async function listFiles(folder: string): Promise<RemoteListing> {
    const [, base = "", rest = ""] = /^([^?#]*)(.*)$/s.exec(folder) ?? [];
    const pattern = `${base.replace(/\/+$/, "")}/**${rest}`;
    const rows = await query(folder, `SELECT file FROM glob($1) ORDER BY file LIMIT ${MAX_FILES + 1}`, pattern);
    if (rows.length > MAX_FILES) return unreadable(`it holds more than ${MAX_FILES} files`);
    return { kind: "files", files: rows.flatMap(([file]) => file ?? []) };
  }

  async function attempt<T>(address: string, work: () => Promise<T>) {
    const reason = unresponsive.get(serverOf(address));
    return reason === undefined
      ? await work().catch((error: unknown) => failureOf(error, address))
      : unreadable(reason);
  }

  return {
    read: (address) => attempt(address, () => readText(address)),
    list: (folder) => attempt(folder, () => listFiles(folder)),
    close() {
      // A query that waits for a server cannot be interrupted. Then the database stays open, because closing it would wait too.
      if (running === 0) duckdb.close_sync(database);
    },
  };
}

function failedSecret(connection: string, message: string): string {
  return `the init of connection '${connection}' failed: ${withoutSql(message)}`;
}

/** The settings of a project, for a database in memory that only reads a few small files. */
function remoteSettings(settings: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const others = [...settings].filter(
    ([name]) => !/^(?:access_mode|temp_directory|threads|worker_threads|external_threads)$/i.test(name),
  );
  return new Map([...others, ["threads", "1"]]);
}

function unreadable(reason: string) {
  return { kind: "unreadable", reason } as const;
}

function extensionOf(address: string): string | undefined {
  return SCHEMES.find(([, scheme]) => scheme.test(address))?.[0];
}

function serverOf(address: string): string {
  return /^[^/]*\/\/[^/?#]*/.exec(address)?.[0] ?? "";
}

/** The parts of an address that may be credentials: user, password, and everything in its query. */
function possibleCredentials(address: string): readonly string[] {
  const [, user = ""] = /^[^/]*\/\/([^/?#]*)@/.exec(address) ?? [];
  const [, query = ""] = /\?(.*)$/s.exec(address) ?? [];
  const values = query.split("&").map((part) => part.slice(part.indexOf("=") + 1));
  return [user, ...user.split(":"), query, ...values].filter((part) => part !== "");
}
