import { spawn } from "node:child_process";
import { once } from "node:events";
import { CreateSecretCommand, PutSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { afterAll } from "vitest";
import { testWithPython } from "./python.ts";

/** `test` where Python has the server that stands in for AWS; `pip install 'moto[server]'` brings it. */
export const testWithMoto = testWithPython("moto.server");

/** Somebody else's Secrets Manager, on this machine. */
export interface Moto extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** What a service needs to find it. */
  readonly env: Readonly<Record<string, string>>;
  /** A new secret; gives back its name. */
  create(name: string, content: string | Uint8Array): Promise<string>;
  /** Puts another content into a secret. */
  put(name: string, content: string): Promise<void>;
  stop(): Promise<void>;
}

/** One server for all tests of a file: started when the first of them asks for it. */
export function sharedMoto(): () => Promise<Moto> {
  let started: Promise<Moto> | undefined;
  afterAll(async () => {
    await (await started)?.stop();
  });
  return () => {
    started ??= startMoto();
    return started;
  };
}

export const MOTO_REGION = "eu-central-1";

/** Starts the server on a free port, or on one that was free before. */
export async function startMoto(port = 0): Promise<Moto> {
  const interpreter = process.env["EIDER_TEST_PYTHON"] ?? "python3";
  const program = "from moto.server import main; main()";
  const server = spawn(interpreter, ["-c", program, "-H", "127.0.0.1", "-p", String(port)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(server, "exit");
  const url = await addressOf(server.stderr, ended);
  const credentials = { accessKeyId: "test-id", secretAccessKey: "test-key" };
  const client = new SecretsManagerClient({ endpoint: url, region: MOTO_REGION, credentials });
  async function stop(): Promise<void> {
    client.destroy();
    server.kill();
    await ended;
  }
  return {
    url,
    port: Number(new URL(url).port),
    env: {
      AWS_ENDPOINT_URL_SECRETS_MANAGER: url,
      AWS_REGION: MOTO_REGION,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
    async create(name, content) {
      const value = typeof content === "string" ? { SecretString: content } : { SecretBinary: content };
      await client.send(new CreateSecretCommand({ Name: name, ...value }));
      return name;
    },
    async put(name, content) {
      await client.send(new PutSecretValueCommand({ SecretId: name, SecretString: content }));
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The server prints it when it listens; it prints a line for each request too, which somebody must read. */
function addressOf(output: NodeJS.ReadableStream, ended: Promise<unknown>): Promise<string> {
  let printed = "";
  return new Promise((resolve, reject) => {
    output.on("data", (bytes: Buffer) => {
      if (printed.length < 10_000) printed += bytes.toString();
      const [, url] = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(printed) ?? [];
      if (url !== undefined) resolve(url);
    });
    ended.then(() => reject(new Error(`moto ended: ${printed}`)), reject);
  });
}
