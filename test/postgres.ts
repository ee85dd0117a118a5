import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll } from "vitest";
import { freePort } from "./redis.ts";
import { until } from "./until.ts";

/** Debian does not install the server in PATH, but in one folder per version. */
const DEBIAN = "/usr/lib/postgresql";
const programs = findPrograms();
/** The user who runs Postgres if the tests run as root, because Postgres does not run as root. */
const owner: Owner | undefined = process.getuid?.() === 0 ? unprivilegedUser() : undefined;

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The reason why tests that need Postgres cannot run. Undefined if they can. */
export const missingPostgres = findReason();

/** A Postgres server for tests. It is stopped when it is disposed. */
export interface TestPostgres extends AsyncDisposable {
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** Creates an empty database and returns its connection string for libpq. */
  createDatabase(): Promise<string>;
  /** Runs SQL in a database and returns the output of `psql`, one line per row. */
  sql(database: string, text: string): Promise<string>;
  /** What it has printed since it was started. With `log_statement = all`, that includes each statement. */
  log(): string;
  /** Ends it like a crash. */
  kill(): Promise<void>;
  /** Stops all its processes: it accepts connections, but does not respond. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Starts it again on the same port, with its data. */
  restart(): Promise<void>;
}

const USER = "eider";
/** Code that does not quote it fails. */
const PASSWORD = "geheim 'und' lang\\";

/** One server for all tests of a file, started when the first test needs it. */
export function sharedPostgres(): () => Promise<TestPostgres> {
  let started: Promise<TestPostgres> | undefined;
  afterAll(async () => {
    await (await started)?.[Symbol.asyncDispose]();
  });
  return () => {
    started ??= startPostgres();
    return started;
  };
}

/** Starts a server on the loopback address, in a new folder. */
async function startPostgres(): Promise<TestPostgres> {
  if (missingPostgres !== undefined) throw new Error(missingPostgres);
  const folder = await mkdtemp(join(tmpdir(), "eider-postgres-"));
  const port = await freePort();
  let running: ChildProcess | undefined;
  let output = "";
  let databases = 0;

  async function restart(): Promise<void> {
    const options = {
      listen_addresses: "127.0.0.1",
      port: String(port),
      unix_socket_directories: "",
      fsync: "off",
      max_connections: "200",
    };
    const args = Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(programs ?? "", "postgres"), ["-D", join(folder, "data"), ...args], {
      ...owner,
      cwd: folder,
      env: { LC_ALL: "C" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    running = child;
    output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
    await until("Postgres to be ready", () => {
      if (child.exitCode !== null) throw new Error(`postgres ended: ${output}`);
      return output.includes("ready to accept connections");
    });
  }

  async function stop(signal: "SIGQUIT" | "SIGINT"): Promise<void> {
    const child = running;
    running = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    // Postgres handles these signals, and also ends the processes of its sessions.
    child.kill(signal);
    await exited;
  }

  async function signalAll(signal: "SIGSTOP" | "SIGCONT"): Promise<void> {
    const pid = running?.pid;
    if (pid === undefined) return;
    process.kill(pid, signal);
    const children = (await promisify(execFile)("pgrep", ["-P", String(pid)])).stdout.split("\n").filter(Boolean);
    for (const child of children) {
      try {
        process.kill(Number(child), signal);
      } catch (error) {
        // It has ended meanwhile.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }

  async function runClient(program: "createdb" | "psql", args: readonly string[]): Promise<string> {
    const address = ["-h", "127.0.0.1", "-p", String(port), "-U", USER];
    const env = { PGPASSWORD: PASSWORD, LC_ALL: "C" };
    return (await promisify(execFile)(join(programs ?? "", program), [...address, ...args], { env })).stdout.trimEnd();
  }

  const postgres: TestPostgres = {
    port,
    user: USER,
    password: PASSWORD,
    async createDatabase() {
      const name = `test${++databases}`;
      await runClient("createdb", [name]);
      return `dbname=${name} host=127.0.0.1 port=${port} user=${USER} password='${PASSWORD.replace(/['\\]/g, "\\$&")}'`;
    },
    sql: (database, text) =>
      runClient("psql", ["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text, databaseIn(database)]),
    log: () => output,
    kill: () => stop("SIGQUIT"),
    freeze: () => signalAll("SIGSTOP"),
    thaw: () => signalAll("SIGCONT"),
    restart,
    async [Symbol.asyncDispose]() {
      await stop("SIGINT");
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await makeCluster(folder);
    await restart();
  } catch (error) {
    await postgres[Symbol.asyncDispose]();
    throw error;
  }
  return postgres;
}

async function makeCluster(folder: string): Promise<void> {
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, PASSWORD);
  if (owner !== undefined) {
    for (const path of [folder, passwordFile]) await chown(path, owner.uid, owner.gid);
  }
  const args = ["-D", join(folder, "data"), "-U", USER, "-A", "scram-sha-256", "--pwfile", passwordFile];
  const options = ["-E", "UTF8", "--locale", "C", "--no-sync"];
  await promisify(execFile)(join(programs ?? "", "initdb"), [...args, ...options], { ...owner, cwd: folder });
}

function databaseIn(address: string): string {
  return /\bdbname=(\w+)/.exec(address)?.[1] ?? address;
}

/** The folder of the newest installed server. */
function findPrograms(): string | undefined {
  const debian = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...debian.map((version) => join(DEBIAN, version, "bin")), ...(process.env["PATH"] ?? "").split(":")];
  return folders.find((folder) =>
    ["postgres", "initdb", "createdb", "psql"].every((it) => existsSync(join(folder, it))),
  );
}

function unprivilegedUser(): Owner | undefined {
  const name = ["postgres", "nobody"].find((user) => spawnSync("id", ["-u", user]).status === 0);
  if (name === undefined) return undefined;
  const [uid, gid] = ["-u", "-g"].map((what) => Number(execFileSync("id", [what, name], { encoding: "utf8" })));
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

function findReason(): string | undefined {
  if (programs === undefined) return "there is no postgres";
  if (process.getuid?.() === 0 && owner === undefined) return "postgres does not run as root, and there is nobody else";
  return undefined;
}
