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
if (status !== 0) throw new Error(`the program did not run, so it has no code cache:\n${stdout}${stderr}`);
