import { spawn } from "node:child_process";
import { once } from "node:events";
import { CreateSecretCommand, PutSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { afterAll } from "vitest";
import { testWithPython } from "./python.ts";

/** `test` if Python has moto, which emulates AWS (`pip install 'moto[server]'`). */
export const testWithMoto = testWithPython("moto.server");

/** An emulated AWS Secrets Manager on this machine. */
export interface Moto extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The environment variables with which a service connects to it. */
  readonly env: Readonly<Record<string, string>>;
  /** Creates a secret and returns its name. */
  create(name: string, content: string | Uint8Array): Promise<string>;
  /** Changes the content of a secret. */
  put(name: string, content: string): Promise<void>;
  stop(): Promise<void>;
}

/** One server for all tests of a file, started when the first test needs it. */
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

/** Starts the server on the given port, by default on a free one. */
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

/** The URL that the server prints when it listens. Keeps reading, because the server also prints a line for each request. */
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
