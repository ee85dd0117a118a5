import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendRequest } from "./ask.ts";
import { testNeeding } from "./needing.ts";
import { freePort } from "./redis.ts";
import { until } from "./until.ts";

const SERVER = "/usr/sbin/nginx";
const isInstalled = spawnSync(SERVER, ["-v"]).status === 0;

/** `test` if nginx is installed. Otherwise, the test is skipped. */
export const testWithNginx = testNeeding(isInstalled ? undefined : `there is no ${SERVER}`);

export interface TestProxy extends AsyncDisposable {
  readonly url: string;
}

/**
 * A real nginx with `proxy_cache` in front of a service. It forwards requests with its default settings, without a
 * forwarding header. `X-Proxy-Cache` on its responses is `HIT` for those from its cache.
 */
export async function startCachingProxy(upstream: string, directives = ""): Promise<TestProxy> {
  const folder = await mkdtemp(join(tmpdir(), "eider-nginx-"));
  const port = await freePort();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const config = join(folder, "nginx.conf");
  await writeFile(
    config,
    `daemon off;
master_process off;
pid ${folder}/pid;
error_log stderr;
events {}
http {
  access_log off;
  ${temporary.join("\n  ")}
  proxy_cache_path ${folder}/cache keys_zone=responses:1m;
  server {
    listen 127.0.0.1:${port};
    location = /proxy-is-up { return 204; }
    location / {
      proxy_pass ${upstream};
      proxy_cache responses;
      add_header X-Proxy-Cache $upstream_cache_status always;
      ${directives}
    }
  }
}
`,
  );
  const child = spawn(SERVER, ["-c", config, "-p", folder], { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (text) => (errors += text));
  child.once("error", (error) => (errors += error.message));
  const proxy: TestProxy = {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      if (child.pid !== undefined && child.exitCode === null) {
        const exited = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGKILL");
        await exited;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await until("nginx to be up", async () => {
      if (child.pid === undefined || child.exitCode !== null) throw new Error(`nginx did not start: ${errors}`);
      return (await sendRequest(`${proxy.url}/proxy-is-up`).catch(() => undefined))?.status === 204;
    });
  } catch (error) {
    await proxy[Symbol.asyncDispose]();
    throw error;
  }
  return proxy;
}
