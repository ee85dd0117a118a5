import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { MadeCertificate } from "./certificates.ts";
import { until } from "./until.ts";

const SERVER = "redis-server";
const isInstalled = spawnSync(SERVER, ["--version"]).status === 0;

/** A Redis server for tests. It stores nothing on disk, and is stopped when it is disposed. */
export interface TestRedis extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Ends it like a crash. */
  kill(): Promise<void>;
  /** Starts it again on the same port, without data. */
  restart(): Promise<void>;
  /** Suspends the process. Its connections stay open. */
  pause(): void;
  resume(): void;
}

/**
 * `test` if Redis is installed. Otherwise, the test is skipped, and its name contains the reason. With EIDER_TEST_REQUIRE=all,
 * it runs and fails.
 */
export function testWithRedis(name: string, run: () => Promise<void>): void {
  if (isInstalled || process.env["EIDER_TEST_REQUIRE"] === "all") test(name, run);
  // CI has the server.
  else test.skip(`${name} (left out: there is no ${SERVER})`, run);
}

export interface RedisOptions {
  /** Further command-line options. */
  readonly args?: readonly string[];
  /** With a certificate, the server uses TLS. */
  readonly certificate?: MadeCertificate;
}

/** Starts `redis-server` on the loopback address. */
export async function startRedis({ args = [], certificate }: RedisOptions = {}): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), "eider-redis-"));
  const port = await freePort();
  const listening = certificate === undefined ? ["--port", `${port}`] : await tlsOptions(certificate, { folder, port });
  let running: ChildProcess | undefined;

  async function restart(): Promise<void> {
    const own = [...listening, "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
    const child = spawn(SERVER, [...own, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    running = child;
    let output = "";
    let failure: Error | undefined;
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
    child.once("error", (error) => {
      failure = error;
    });
    await until("Redis to be ready", () => {
      if (failure !== undefined) throw failure;
      if (child.exitCode !== null) throw new Error(`${SERVER} ended: ${output}`);
      return output.includes("eady to accept connections");
    });
  }

  async function kill(): Promise<void> {
    const child = running;
    running = undefined;
    if (child === undefined || child.pid === undefined || child.exitCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
  }

  const redis: TestRedis = {
    port,
    url: `${certificate === undefined ? "redis" : "rediss"}://127.0.0.1:${port}`,
    kill,
    restart,
    pause: () => void running?.kill("SIGSTOP"),
    resume: () => void running?.kill("SIGCONT"),
    async [Symbol.asyncDispose]() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await restart();
  } catch (error) {
    await redis[Symbol.asyncDispose]();
    throw error;
  }
  return redis;
}

async function tlsOptions(
  { cert, key }: MadeCertificate,
  { folder, port }: { readonly folder: string; readonly port: number },
): Promise<readonly string[]> {
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
  const files = ["--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", certFile];
  return ["--port", "0", "--tls-port", `${port}`, "--tls-auth-clients", "no", ...files];
}

/** A free port on the loopback address. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("a listener has a port");
  return address.port;
}
