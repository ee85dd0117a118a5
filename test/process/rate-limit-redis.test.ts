import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { makeCertificate } from "../certificates.ts";
import { startRedis, testWithRedis } from "../redis.ts";
import { folderWith } from "./program.ts";

const LIMITER = pathToFileURL(resolve(import.meta.dirname, "../../dist/rate-limit/rate-limiter.js")).href;

/** Takes as often as it is told to, and prints how often that was allowed and what was reported. */
const PROGRAM = `
  const [limiterUrl, store, count] = process.argv.slice(1);
  const { openRateLimiter } = await import(limiterUrl);
  const events = [];
  const limiter = openRateLimiter({ now: Date.now, report: (event) => events.push(event), storeTimeoutMs: 10_000 });
  const policy = { max: 100, intervalSeconds: 600, key: "ip", store };
  const who = { address: "10.0.0.1", username: undefined };
  const states = await Promise.all(Array.from({ length: Number(count) }, () => limiter.take("GET /x", policy, who)));
  await limiter.close();
  console.log(JSON.stringify({ allowed: states.filter((state) => state.allowed).length, events }));
`;

interface Outcome {
  readonly allowed: number;
  readonly events: readonly unknown[];
}

/** A process of its own that counts in a store. It ends by itself: nothing of it keeps it alive. */
async function countingProcess(store: string, count: number, env: Record<string, string> = {}): Promise<Outcome> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", PROGRAM, "--", LIMITER, store, `${count}`], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const code = await new Promise((done) => child.once("close", done));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

testWithRedis("processes that share a store allow no more requests together than one process", async () => {
  await using redis = await startRedis();
  const outcomes = await Promise.all([1, 2, 3].map(() => countingProcess(redis.url, 80)));
  expect(outcomes.map(({ allowed }) => allowed).reduce((sum, allowed) => sum + allowed)).toBe(100);
  expect(outcomes.flatMap(({ events }) => events)).toEqual([]);
});

testWithRedis("a store behind TLS is used when its certificate is trusted", async () => {
  const certificate = makeCertificate({ name: "localhost" });
  await using redis = await startRedis({ certificate, args: ["--requirepass", "p@ss"] });
  await using folder = await folderWith({ "authority.pem": certificate.cert });
  const store = redis.url.replace("://", "://:p%40ss@");
  const trusting = { NODE_EXTRA_CA_CERTS: resolve(folder.path, "authority.pem") };
  const [one, other] = [await countingProcess(store, 80, trusting), await countingProcess(store, 80, trusting)];
  expect([one, other]).toEqual([
    { allowed: 80, events: [] },
    { allowed: 20, events: [] },
  ]);
});
