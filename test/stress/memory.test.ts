import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { type Program, start } from "../process/program.ts";

/** EIDER_TEST_FULL=1 takes the numbers that docs/operations.md speaks of; without it, a part of them. */
const FULL = process.env["EIDER_TEST_FULL"] === "1";
const IDLE = FULL ? 10_000 : 2_000;
const SLOW = FULL ? 1_000 : 100;
const BODIES = FULL ? 200 : 50;
const STREAMS = 4;

/** The bounds of docs/operations.md, in MiB. What was freed may stay with the process: they hold for the most so far. */
const SERVICE = 256;
const PER_IDLE = 16 / 1024;
const PER_SLOW_READER = 2.5;
const PER_BODY = 3;
const PER_STREAM = 32;

/** Together as long as the bound of a stream. */
const ROWS = 250_000;
const FILLER = "x".repeat(100);
const BODY = JSON.stringify({ text: "x".repeat(1_000_000) });

const read = (name: string, sql: string): Record<string, string> => ({
  [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: memory\nwith-pagination: false\n`,
  [`${name}.sql`]: sql,
});

const project = {
  "eider.yaml": "http-port: 0\nlog: { level: silent }\nconnections: { memory: {} }\n",
  ...read("one", "SELECT 1 AS n"),
  ...read("endless", "SELECT range AS n, 'customer number ' || range AS name FROM range(100000000)"),
  ...read("long", `SELECT range AS n, '${FILLER}' || range AS name FROM range(${ROWS})`),
  "write.yaml":
    "url-path: /write\nmethod: POST\ntemplate-source: write.sql\nconnection: memory\nrequest:\n  - { field-name: text, field-in: body }\n",
  "write.sql": "CREATE OR REPLACE TEMP TABLE written AS SELECT length('{{{params.text}}}') AS n",
};

/** The most that it has had in memory so far, in MiB. */
function mostMemory({ pid }: Program): number {
  const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) / 1024;
}

/** Connections that have asked for something and got the beginning of an answer; from then on they read nothing. */
async function clients(url: string, path: string, count: number): Promise<readonly Socket[]> {
  const { port } = new URL(url);
  const one = (): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port: Number(port) });
      socket.once("connect", () => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`));
      socket.once("error", reject);
      socket.once("data", () => {
        socket.pause();
        socket.off("error", reject).on("error", () => {});
        resolve(socket);
      });
    });
  const sockets: Socket[] = [];
  // Not all at once: that would be another test.
  while (sockets.length < count) {
    const wanted = Math.min(20, count - sockets.length);
    sockets.push(...(await Promise.all(Array.from({ length: wanted }, one))));
  }
  return sockets;
}

async function postBody(url: string): Promise<number> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/write`, { method: "POST", headers, body: BODY });
  await answer.arrayBuffer();
  return answer.status;
}

async function readLong(url: string): Promise<number> {
  let lines = 0;
  for await (const chunk of (await fetch(`${url}/long?format=csv`)).body ?? []) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++;
  }
  return lines - 1;
}

test("connections, slow readers, bodies and long answers stay within their bounds", async () => {
  await using program = await start(project);
  const url = await program.url();
  expect((await fetch(`${url}/one`)).status).toBe(200);
  let bound = SERVICE;
  expect(mostMemory(program)).toBeLessThan(bound);

  const idle = await clients(url, "/one", IDLE);
  bound += IDLE * PER_IDLE;
  expect(mostMemory(program)).toBeLessThan(bound);

  const slow = await clients(url, "/endless", SLOW);
  bound += SLOW * PER_SLOW_READER;
  // Nobody of them is in the way of the others.
  expect(await (await fetch(`${url}/one`)).json()).toEqual([{ n: 1 }]);
  expect(mostMemory(program)).toBeLessThan(bound);
  for (const socket of slow) socket.destroy();

  const statuses = await Promise.all(Array.from({ length: BODIES }, () => postBody(url)));
  bound += BODIES * PER_BODY;
  expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
  expect(mostMemory(program)).toBeLessThan(bound);

  const lengths = await Promise.all(Array.from({ length: STREAMS }, () => readLong(url)));
  bound += STREAMS * PER_STREAM;
  expect(lengths).toEqual(lengths.map(() => ROWS));
  expect(mostMemory(program)).toBeLessThan(bound);

  for (const socket of idle) socket.destroy();
  expect((await fetch(`${url}/health`)).status).toBe(200);
});
