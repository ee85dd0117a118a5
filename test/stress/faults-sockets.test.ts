import { spawnSync } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { testNeeding } from "../needing.ts";
import { type Files, type Program, start } from "../process/program.ts";
import { openSocket } from "../socket.ts";
import { until } from "../until.ts";

const isLinux = process.platform === "linux";
const needsLinux = testNeeding(isLinux ? undefined : "limits and /proc as Linux has them");
const needsLimits = testNeeding(
  isLinux && spawnSync("prlimit", ["--version"]).status === 0 ? undefined : "there is no prlimit",
);

const DESCRIPTORS = 256;
/** More than there are descriptors. */
const CROWD = 320;

const PROJECT: Files = {
  "eider.yaml": "http-port: 0\nconnections: { memory: {} }\nadmin: { port: 0 }\n",
  "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: [memory]\nwith-pagination: false\n",
  "x.sql": "SELECT 1 AS a",
  "file.yaml": "url-path: /file\ntemplate-source: file.sql\nconnection: [memory]\nwith-pagination: false\n",
  "file.sql": "SELECT a FROM read_csv('data.csv')",
  "data.csv": "a\n1\n",
};

const descriptors = async ({ pid }: Program): Promise<number> => (await readdir(`/proc/${pid}/fd`)).length;

/** The status, or undefined when no connection could be had. */
async function statusAt(url: string): Promise<number | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(5_000), headers: { Connection: "close" } });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return undefined;
  }
}

/** Clients that send something and then never close, whatever the other side does. */
async function crowdOf(url: string, bytes: string): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(url);
  return await Promise.all(
    Array.from(
      { length: CROWD },
      () =>
        new Promise<Socket>((resolve) => {
          const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
          socket
            .on("error", () => resolve(socket))
            .once("connect", () => {
              if (bytes !== "") socket.write(bytes);
              resolve(socket);
            });
        }),
    ),
  );
}

const adminUrl = ({ stdout }: Program): Promise<string> =>
  until("the admin listener", () => /^Admin listening on (\S+)$/m.exec(stdout())?.[1]);

const get = (path: string, headers = ""): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

describe("more clients than file descriptors, none of which ever closes", () => {
  for (const [name, bytes] of [
    ["silent", ""],
    ["malformed", "nonsense\r\n\r\n"],
    ["refused before the body", get("/x", "Transfer-Encoding: gzip, chunked\r\n")],
    ["refused while the body is to come", get("/nothing", "Content-Length: 999999\r\n").replace("GET", "POST")],
    ["CONNECT", get("a:1").replace("GET", "CONNECT")],
    ["idle after a response", get("/x")],
  ] as const) {
    needsLinux(name, async () => {
      await using program = await start(PROJECT, { descriptors: DESCRIPTORS });
      const url = await program.url();
      const admin = await adminUrl(program);
      expect(await statusAt(`${url}/file`)).toBe(200);
      const before = await descriptors(program);
      const crowd = await crowdOf(url, bytes);
      try {
        // Health is there for those who look after the service all the time, for clients soon.
        expect(await statusAt(`${admin}/health`)).toBe(200);
        await until("health", async () => (await statusAt(`${url}/x`)) === 200);
        expect(await statusAt(`${url}/file`)).toBe(200);
        // A keep-alive connection that has been served may stay as long as nobody needs its place.
        if (!name.startsWith("idle") && name !== "silent") {
          await until("the end of all", async () => (await descriptors(program)) <= before + 2);
        }
        expect(program.stderr().split("accepting connections: all 192 connections are in use").length).toBe(2);
        expect(program.stderr()).not.toContain('"level":"error"');
      } finally {
        for (const socket of crowd) socket.destroy();
      }
    });
  }
});

test("every listener refuses codings and versions that it does not have", async () => {
  await using program = await start({ ...PROJECT, "eider.yaml": `${PROJECT["eider.yaml"]}mcp: { port: 0 }\n` });
  for (const url of [await program.url(), await program.mcpUrl(), await adminUrl(program)]) {
    for (const [bytes, status, body] of [
      [get("/", "Transfer-Encoding: gzip, chunked\r\n"), 501, '{"error":"Not Implemented"}'],
      [get("/").replace("1.1", "2.0"), 505, '{"error":"HTTP Version Not Supported"}'],
      ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, '{"error":"HTTP Version Not Supported"}'],
    ] as const) {
      using socket = await openSocket(url);
      socket.send(bytes);
      expect((await socket.take(1))[0]).toMatchObject({ status, body, complete: true });
      await socket.untilClosed();
    }
  }
});

needsLimits("without a single descriptor files are reported as such, and a reload keeps what is served", async () => {
  await using program = await start(PROJECT, { args: ["serve", "--watch"] });
  const url = await program.url();
  using kept = await openSocket(url);
  kept.send(get("/x"));
  await kept.take(1);
  const allow = (count: number): void => {
    expect(spawnSync("prlimit", ["--pid", String(program.pid), `--nofile=${count}:`]).status).toBe(0);
  };
  allow(3);
  // The crowd is not accepted; the system closes it, or nobody does until there is room.
  const crowd = await crowdOf(url, get("/x"));
  await writeFile(join(program.folder, "x.sql"), "SELECT 2 AS a");
  program.signal("SIGHUP");
  await until("a refused reload", () => program.stderr().includes("reload failed"));
  kept.send(get("/x?again") + get("/file"));
  const [, same, file] = await kept.take(3);
  expect([same?.status, same?.body]).toEqual([200, '[{"a":1}]']);
  expect([file?.status, file?.body]).toEqual([500, expect.stringMatching(/Too many open files/)]);
  for (const socket of crowd) socket.destroy();
  allow(1_024);
  program.signal("SIGHUP");
  await until("a reload", () => program.stderr().includes("reloaded: 2 endpoints"));
  kept.send(get("/x"));
  expect((await kept.take(4))[3]).toMatchObject({ status: 200, body: '[{"a":2}]' });
  expect(program.hasExited()).toBe(false);
  expect(program.stderr()).not.toContain('"level":"error"');
});
