import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll } from "vitest";
import { freePort } from "./redis.ts";
import { until } from "./until.ts";

const programs = ["mariadbd", "mariadb-install-db", "mariadb"];
const missing = programs.filter((program) => spawnSync(program, ["--version"]).error !== undefined);

/** The reason why tests that need MariaDB cannot run. Undefined if they can. */
export const missingMariaDb = missing.length === 0 ? undefined : `there is no ${missing.join(", ")}`;

/** A MariaDB server for tests. Its user `root` needs no password. */
export interface TestMariaDb extends AsyncDisposable {
  readonly port: number;
  /** Creates an empty database and returns its name. */
  createDatabase(): Promise<string>;
  /** Runs SQL in a database and returns its rows, one line each. */
  sql(database: string, text: string): Promise<string>;
  /** Stops its process: it accepts connections, but does not respond. */
  freeze(): void;
  thaw(): void;
  /** Ends it like a crash. */
  kill(): Promise<void>;
  /** Starts it again on the same port, with its data. */
  restart(): Promise<void>;
}

/** One server for all tests of a file, started when the first test needs it. */
export function sharedMariaDb(): () => Promise<TestMariaDb> {
  let started: Promise<TestMariaDb> | undefined;
  afterAll(async () => {
    await (await started)?.[Symbol.asyncDispose]();
  });
  return () => {
    started ??= startMariaDb();
    return started;
  };
}

async function startMariaDb(): Promise<TestMariaDb> {
  if (missingMariaDb !== undefined) throw new Error(missingMariaDb);
  const folder = await mkdtemp(join(tmpdir(), "eider-mariadb-"));
  const port = await freePort();
  // It does not run as root without this option.
  const dataOptions = [`--datadir=${join(folder, "data")}`, ...(process.getuid?.() === 0 ? ["--user=root"] : [])];
  let child: ChildProcess | undefined;
  let databases = 0;

  async function sql(database: string, text: string): Promise<string> {
    const args = ["--host=127.0.0.1", `--port=${port}`, "--user=root", "--batch", "--skip-column-names", "-e", text];
    return (await promisify(execFile)("mariadb", database === "" ? args : [...args, database])).stdout.trimEnd();
  }

  async function end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null) return;
    const exited = new Promise((resolve) => ending.once("exit", resolve));
    ending.kill(signal);
    await exited;
  }

  async function stop(): Promise<void> {
    await end("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  }

  async function restart(): Promise<void> {
    const options = [`--port=${port}`, "--bind-address=127.0.0.1", `--socket=${join(folder, "socket")}`];
    // A server that starts deletes the temporary files of others in the same folder.
    const files = [`--pid-file=${join(folder, "pid")}`, `--tmpdir=${folder}`];
    const args = ["--no-defaults", ...dataOptions, ...options, ...files];
    const started = spawn("mariadbd", args, { stdio: ["ignore", "pipe", "pipe"] });
    child = started;
    let output = "";
    for (const stream of [started.stdout, started.stderr]) stream.on("data", (text) => (output += text));
    await until("MariaDB to be ready", () => {
      if (started.exitCode !== null) throw new Error(`mariadbd ended: ${output}`);
      return output.includes("ready for connections");
    });
  }

  try {
    await promisify(execFile)("mariadb-install-db", [
      ...dataOptions,
      "--auth-root-authentication-method=normal",
      "--skip-test-db",
    ]);
    await restart();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    port,
    async createDatabase() {
      const name = `test${++databases}`;
      await sql("", `CREATE DATABASE ${name}`);
      return name;
    },
    sql,
    freeze: () => child?.kill("SIGSTOP"),
    thaw: () => child?.kill("SIGCONT"),
    kill: () => end("SIGKILL"),
    restart,
    [Symbol.asyncDispose]: stop,
  };
}
