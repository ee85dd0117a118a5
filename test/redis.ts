import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { MadeCertificate } from "./certificates.ts";
import { until } from "./until.ts";

const SERVER = "redis-server";
const isThere = spawnSync(SERVER, ["--version"]).status === 0;

/** A Redis of our own: it stores nothing on disk, and ends when it is disposed of. */
export interface TestRedis extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Starts it again at the same port, empty. */
  restart(): Promise<void>;
  /** Stops it from answering, and lets it go on: connections stay. */
  pause(): void;
  resume(): void;
}

/**
 * `test` where Redis is installed. Elsewhere the test is left out, and its name says why; under EIDER_TEST_REQUIRE=all
 * it runs and fails.
 */
export function testWithRedis(name: string, run: () => Promise<void>): void {
  if (isThere || process.env["EIDER_TEST_REQUIRE"] === "all") test(name, run);
  // The server is missing here; CI has it.
  else test.skip(`${name} (left out: there is no ${SERVER})`, run);
}

export interface RedisWish {
  /** Further options of its command line. */
  readonly args?: readonly string[];
  /** It speaks TLS, and shows this. */
  readonly certificate?: MadeCertificate;
}

/** Starts `redis-server` on the loopback. */
export async function startRedis({ args = [], certificate }: RedisWish = {}): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), "eider-redis-"));
  const port = await freePort();
  const listening = certificate === undefined ? ["--port", `${port}`] : await listenWith(certificate, { folder, port });
  let running: ChildProcess | undefined;

  async function restart(): Promise<void> {
    const own = [...listening, "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
    const child = spawn(SERVER, [...own, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    running = child;
    let said = "";
    let failure: Error | undefined;
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
    child.once("error", (error) => {
      failure = error;
    });
    await until("a Redis that is ready", () => {
      if (failure !== undefined) throw failure;
      if (child.exitCode !== null) throw new Error(`${SERVER} ended: ${said}`);
      return said.includes("eady to accept connections");
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

async function listenWith(
  { cert, key }: MadeCertificate,
  { folder, port }: { readonly folder: string; readonly port: number },
): Promise<readonly string[]> {
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
  const files = ["--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", certFile];
  return ["--port", "0", "--tls-port", `${port}`, "--tls-auth-clients", "no", ...files];
}

/** A port on the loopback where nobody listens. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("a listener has a port");
  return address.port;
}
