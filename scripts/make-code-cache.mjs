// Makes dist/program/main.cache, V8's code cache of the program.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const TIME_LIMIT_MS = 120_000;

// V8 rejects a cache that was made with other flags, so those of the build must not count.
const env = { ...process.env, NODE_OPTIONS: "" };
const warmUp = fileURLToPath(new URL("warm-up.cjs", import.meta.url));
const { status, stdout, stderr } = spawnSync(process.execPath, [warmUp], {
  env,
  timeout: TIME_LIMIT_MS,
  encoding: "utf8",
});
// The program works without it. `test/process/code-cache.test.ts` fails if it is missing.
if (status !== 0) console.warn(`No code cache was made, so Eider starts more slowly:\n${stdout}${stderr}`);
