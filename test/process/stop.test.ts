import { describe, expect, test } from "vitest";
import { openSocket } from "../socket.ts";
import { until } from "../until.ts";
import { type Files, start } from "./program.ts";

/** More work than anybody waits for. */
const WORK = "SELECT sum(a.range * b.range) AS s FROM range({{params.n}}) a, range({{params.n}}) b";
const ENDLESS = "/work?n=1000000";
/** The same without work: what waits can be interrupted as well. */
const WAIT = "SELECT {{params.ms}} AS waited, sleep_ms({{params.ms}}) AS slept";
const SOME = "/wait?ms=500";
const FOREVER = "/wait?ms=100000000";

function project(grace: string): Files {
  return {
    "eider.yaml": `http-port: 0\nconnections: { memory: {} }\nlimits: { shutdown-grace: ${grace} }\n`,
    "work.yaml":
      "url-path: /work\ntemplate-source: work.sql\nconnection: memory\nwith-pagination: false\nrequest:\n  - { field-name: n, field-in: query, validators: [{ type: int }] }\n",
    "work.sql": WORK,
    "wait.yaml":
      "url-path: /wait\ntemplate-source: wait.sql\nconnection: memory\nwith-pagination: false\nrequest:\n  - { field-name: ms, field-in: query, validators: [{ type: int }] }\n",
    "wait.sql": WAIT,
    "rows.yaml": "url-path: /rows\ntemplate-source: rows.sql\nconnection: memory\nwith-pagination: false\n",
    "rows.sql": "SELECT range AS n FROM range(3000000)",
  };
}

const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
/** All of a request but its last byte: the connection is busy, and the call can be made whenever the test wants. */
const begun = (path: string): string => request(path).slice(0, -1);

/** Starts it, sends a call and waits until its query runs: its head has arrived before what another connection asks. */
async function busy(grace: string, path: string) {
  const program = await start(project(grace));
  const url = await program.url();
  const socket = await openSocket(url);
  socket.send(request(path));
  expect((await fetch(`${url}/health`)).status).toBe(200);
  return { program, url, socket };
}

/** Longer than any test may take: a program that waits for all of it fails its test. */
const LONG = "600s";
const STOPPED = { code: 0, signal: null };

describe.each(["SIGTERM", "SIGINT"] as const)("%s", (signal) => {
  test("nothing to do: ends at once", async () => {
    await using program = await start(project(LONG));
    const url = await program.url();
    // A kept-alive connection that is idle does not hold it.
    expect((await fetch(`${url}/health`)).status).toBe(200);
    program.signal(signal);
    expect(await program.exited).toEqual(STOPPED);
    expect(program.stderr()).toBe("");
  });

  test("a call in flight is answered, then it ends without waiting for the grace", async () => {
    const { program, url, socket } = await busy(LONG, SOME);
    await using _ = program;
    program.signal(signal);
    await refusesConnections(url);
    const [answer] = await socket.take(1);
    expect(answer?.status).toBe(200);
    expect(JSON.parse(answer?.body ?? "")).toEqual([{ waited: 500, slept: null }]);
    expect(answer?.headers.get("connection")).toBe("close");
    expect(await program.exited).toEqual(STOPPED);
  });

  test("a second one ends it at once", async () => {
    const { program, url, socket } = await busy(LONG, FOREVER);
    await using _ = program;
    program.signal(signal);
    await refusesConnections(url);
    program.signal(signal);
    expect(await program.exited).toEqual(STOPPED);
    await socket.untilClosed();
  });
});

test("after the grace the query is interrupted, and its client is told", async () => {
  const { program, socket } = await busy("1s", FOREVER);
  await using _ = program;
  program.signal("SIGTERM");
  const [answer] = await socket.take(1);
  expect(answer?.status).toBe(503);
  expect(JSON.parse(answer?.body ?? "")).toEqual({ error: "Service Unavailable: the service is stopping" });
  expect(answer?.headers.get("retry-after")).toBe("1");
  expect(await program.exited).toEqual(STOPPED);
});

test("after the grace a stream is cut, not closed as if it were complete", async () => {
  const { program, socket } = await busy("1s", "/rows");
  await using _ = program;
  await until("the first rows", () => socket.received().length > 1_000);
  socket.pause();
  program.signal("SIGTERM");
  await program.exited;
  socket.resume();
  await socket.untilClosed();
  expect(socket.answers()[0]).toMatchObject({ status: 200, complete: false });
});

test("while it drains, a connection that was open is answered 503 and closed", async () => {
  await using program = await start(project(LONG));
  const url = await program.url();
  using ready = await openSocket(url);
  using call = await openSocket(url);
  using live = await openSocket(url);
  ready.send(begun("/health/ready"));
  call.send(begun(SOME));
  live.send(begun("/health"));
  expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  program.signal("SIGTERM");
  await refusesConnections(url);
  for (const socket of [ready, call, live]) socket.send("\n");
  const [[readyAnswer], [callAnswer], [liveAnswer]] = await Promise.all([ready.take(1), call.take(1), live.take(1)]);
  expect([readyAnswer?.status, readyAnswer?.body]).toEqual([503, '{"status":"draining"}']);
  expect([callAnswer?.status, callAnswer?.body]).toEqual([
    503,
    '{"error":"Service Unavailable: the service is stopping"}',
  ]);
  expect(callAnswer?.headers.get("retry-after")).toBe("1");
  expect(liveAnswer?.status).toBe(200);
  for (const answer of [readyAnswer, callAnswer, liveAnswer]) expect(answer?.headers.get("connection")).toBe("close");
  expect(await program.exited).toEqual(STOPPED);
});

test("a source that waits for its server does not hold a process that is told to stop", async () => {
  await using program = await start({
    ...project("1s"),
    "eider.yaml": `http-port: 0\nlimits: { shutdown-grace: 1s }\nconnections:\n  memory: {}\n  hangs: { init: "SELECT sleep_ms(100000000)" }\n`,
  });
  await program.url();
  expect(program.stderr()).toContain("connection 'hangs' is still running its init statement, for 5 s");
  program.signal("SIGTERM");
  expect((await program.exited).code).toBe(0);
});

test("as many slow queries as there are slots but one delay nobody", async () => {
  await using program = await start(project("1s, query-timeout: 600s, max-concurrent-queries: 16"));
  const url = await program.url();
  expect((await fetch(`${url}/work?n=1`)).status).toBe(200);
  const slow = await Promise.all(Array.from({ length: 15 }, () => openSocket(url)));
  for (const socket of slow) socket.send(request(ENDLESS));
  expect((await fetch(`${url}/health`)).status).toBe(200);
  for (let count = 0; count < 3; count++) {
    expect((await fetch(`${url}/health`)).status).toBe(200);
    expect(await (await fetch(`${url}/work?n=2`)).json()).toEqual([{ s: 1 }]);
  }
  // None of the slow queries has ended while the others were answered.
  for (const socket of slow) expect(socket.received().length).toBe(0);
});

/** Waits until the port is closed. */
async function refusesConnections(url: string): Promise<void> {
  await until("a closed port", async () => {
    try {
      (await openSocket(url)).close();
      return false;
    } catch (error) {
      // A connection that the port had not yet accepted when it was closed is reset.
      return (error as NodeJS.ErrnoException).code === "ECONNREFUSED";
    }
  });
}
