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

/** Why tests that need a MariaDB cannot run; undefined when they can. */
export const missingMariaDb = missing.length === 0 ? undefined : `there is no ${missing.join(", ")}`;

/** A MariaDB of our own, whose user `root` needs no password. */
export interface TestMariaDb extends AsyncDisposable {
  readonly port: number;
  /** Makes an empty database and returns its name. */
  createDatabase(): Promise<string>;
  /** Runs SQL in a database and returns its rows, a line for each. */
  sql(database: string, text: string): Promise<string>;
}

/** One server for all tests of a file: started when the first of them needs it. */
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
  // It refuses to run as root unless that is said.
  const own = [`--datadir=${join(folder, "data")}`, ...(process.getuid?.() === 0 ? ["--user=root"] : [])];
  let child: ChildProcess | undefined;
  let databases = 0;

  async function sql(database: string, text: string): Promise<string> {
    const args = ["--host=127.0.0.1", `--port=${port}`, "--user=root", "--batch", "--skip-column-names", "-e", text];
    return (await promisify(execFile)("mariadb", database === "" ? args : [...args, database])).stdout.trimEnd();
  }

  async function stop(): Promise<void> {
    if (child !== undefined && child.exitCode === null) {
      const exited = new Promise((resolve) => child?.once("exit", resolve));
      child.kill("SIGTERM");
      await exited;
    }
    await rm(folder, { recursive: true, force: true });
  }

  try {
    await promisify(execFile)("mariadb-install-db", [
      ...own,
      "--auth-root-authentication-method=normal",
      "--skip-test-db",
    ]);
    const options = [`--port=${port}`, "--bind-address=127.0.0.1", `--socket=${join(folder, "socket")}`];
    child = spawn("mariadbd", ["--no-defaults", ...own, ...options, `--pid-file=${join(folder, "pid")}`], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (said += text));
    await until("a MariaDB that is ready", () => {
      if (child?.exitCode !== null) throw new Error(`mariadbd ended: ${said}`);
      return said.includes("ready for connections");
    });
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
    [Symbol.asyncDispose]: stop,
  };
}
