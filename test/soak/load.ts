import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { mcpRequests } from "../mcp-program.ts";
import { openSocket } from "../socket.ts";
import { reloadedFiles } from "./project.ts";

export interface SoakTarget {
  readonly url: string;
  readonly mcpUrl: string;
  readonly folder: string;
  readonly reload: () => void;
  readonly isOver: () => boolean;
  /** How long a read took that is the same all the time. */
  readonly took: (ms: number) => void;
  /** An answer of this kind has come. */
  readonly count: (kind: string) => void;
  readonly wrong: (what: string) => void;
}

const ARROW = "application/vnd.apache.arrow.stream";
const JSON_BODY = { "Content-Type": "application/json" };

interface Asked {
  readonly path: string;
  readonly init?: RequestInit;
  readonly status: number;
}

const READS: readonly ((n: number) => Asked)[] = [
  (n) => ({ path: `/page?id=${n}&limit=50`, status: 200 }),
  (n) => ({ path: `/rows?id=${n}`, init: { headers: { "Accept-Encoding": "gzip" } }, status: 200 }),
  (n) => ({ path: `/rows?id=${n}&format=csv`, init: { headers: { "Accept-Encoding": "br" } }, status: 200 }),
  (n) => ({ path: `/rows?id=${n}&format=ndjson`, status: 200 }),
  (n) => ({ path: `/rows?id=${n}&format=arrow`, status: 200 }),
  (n) => ({ path: `/rows?id=${n}`, init: { headers: { Accept: `${ARROW};codec=zstd` } }, status: 200 }),
  (n) => ({ path: `/rows?id=${n}`, init: { headers: { Accept: `${ARROW};codec=lz4` } }, status: 200 }),
  (n) => ({ path: `/rows?id=${n}&format=parquet`, status: 200 }),
  () => ({ path: "/cached", status: 200 }),
  (n) => ({ path: `/kept?id=${n % 500}`, status: 200 }),
  () => ({
    path: "/private",
    init: { headers: { Authorization: "Bearer a-token-of-the-soak-run-that-nobody-guesses" } },
    status: 200,
  }),
  () => ({ path: "/docs", status: 200 }),
  () => ({ path: "/health/ready", status: 200 }),
  () => ({ path: "/metrics", status: 200 }),
];

const ERRORS: readonly ((n: number) => Asked)[] = [
  (n) => ({ path: `/nowhere/${n}`, status: 404 }),
  (n) => ({ path: `/item?id=x${n}`, status: 400 }),
  () => ({ path: "/item", init: { method: "DELETE" }, status: 405 }),
  () => ({ path: "/item?format=xml", status: 400 }),
  () => ({ path: "/item", init: { headers: { Accept: "image/png" } }, status: 406 }),
  () => ({ path: "/orders", init: { method: "POST", headers: JSON_BODY, body: "{" }, status: 400 }),
  () => ({ path: "/orders", init: { method: "POST", headers: JSON_BODY, body: "{}" }, status: 400 }),
  () => ({ path: "/orders", init: { method: "POST", body: "item=1" }, status: 415 }),
  () => ({ path: "/private", init: { headers: { Authorization: "Bearer wrong" } }, status: 401 }),
  () => ({ path: "/broken", status: 500 }),
  () => ({ path: "/refused", status: 403 }),
];

/** Clients of every kind at work until it is over. */
export async function putUnderSoak(target: SoakTarget): Promise<void> {
  const { url, mcpUrl, folder, isOver, took, count, wrong } = target;

  async function ask(kind: string, { path, init, status }: Asked): Promise<void> {
    try {
      const answer = await fetch(url + path, init);
      const bytes = (await answer.arrayBuffer()).byteLength;
      if (answer.status !== status || bytes === 0)
        wrong(`${path}: ${answer.status} instead of ${status}, ${bytes} bytes`);
    } catch (error) {
      wrong(`${path}: ${error instanceof Error ? (error.cause ?? error) : error}`);
    }
    count(kind);
  }

  /** One after the other, with a breath between them: it is not about speed. */
  async function keepOn(pauseMs: number, work: (times: number) => Promise<void>): Promise<void> {
    for (let times = 0; !isOver(); times++) {
      await work(times);
      await wait(pauseMs);
    }
  }

  const any = <T>(list: readonly T[], times: number): T => list[times % list.length] as T;
  const number = (): number => Math.floor(Math.random() * 18_000);

  const measuring = keepOn(10, async () => {
    const from = performance.now();
    await ask("look-ups", { path: `/item?id=${number()}`, status: 200 });
    took(performance.now() - from);
  });
  const reading = [0, 1].map((first) => keepOn(10, (times) => ask("reads", any(READS, first * 5 + times)(number()))));
  const failing = keepOn(40, (times) => ask("errors", any(ERRORS, times)(times)));
  const writing = keepOn(25, (times) => {
    const key: Record<string, string> = times % 2 === 0 ? {} : { "Idempotency-Key": `soak-${times - (times % 3)}` };
    // The same key comes twice at times, with the same body.
    const body = JSON.stringify({ item: times - (times % 3), text: `it's order ${times - (times % 3)}` });
    return ask("writes", {
      path: "/orders",
      init: { method: "POST", headers: { ...JSON_BODY, ...key }, body },
      status: 200,
    });
  });
  const leaving = keepOn(150, async (times) => {
    using socket = await openSocket(url);
    socket.send(`GET /long?format=${any(["json", "csv", "arrow", "ndjson"], times)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const enough = (times % 5) * 100_000;
    for (let waited = 0; waited < 50 && socket.received().length < enough; waited++) await wait(10);
    if (times % 2 === 0) socket.reset();
    count("disconnects");
  });
  const reloading = keepOn(2_000, async (times) => {
    for (const [name, text] of Object.entries(reloadedFiles(times))) {
      await writeFile(join(folder, `${name}.new`), text);
      await rename(join(folder, `${name}.new`), join(folder, name));
    }
    target.reload();
    await ask("reloads", { path: "/reloaded", status: 200 });
  });
  const wire = mcpRequests(mcpUrl);
  const calling = keepOn(60, async (times) => {
    try {
      if (times % 10 === 0) await wire.modern("tools/list");
      const result = await wire.call("find_items", { id: number() });
      if (result["isError"] === true) wrong(`MCP: ${JSON.stringify(result).slice(0, 300)}`);
      if (times % 20 === 0) await wire.modern("tools/call", { name: "nothing", arguments: {} });
    } catch (error) {
      wrong(`MCP: ${error}`);
    }
    count("MCP calls");
  });
  await Promise.all([measuring, ...reading, failing, writing, leaving, reloading, calling]);
}
