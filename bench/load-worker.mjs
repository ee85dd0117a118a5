// Shared by the benchmarks: separate processes that send requests, so that what they measure is not their own work.
import { fork } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import os from "node:os";
import { fileURLToPath } from "node:url";

const self = fileURLToPath(import.meta.url);
if (process.argv[1] === self && process.send !== undefined) await work();

/**
 * Starts such a process. A task is `closed`, with clients that each wait for their response, or `open`, at a fixed rate without
 * waiting for responses, with at most `most` requests in flight.
 */
export async function enlist(port) {
  const child = fork(self, [port]);
  await once(child, "message");
  return {
    child,
    async run(task) {
      child.send(task);
      const [result] = await once(child, "message");
      return result;
    },
  };
}

/** Runs in each process that generates load. */
async function work() {
  // The benchmark must not measure how long this process waits for a CPU. Only root may raise the priority.
  try {
    os.setPriority(-15);
  } catch {}
  const port = Number(process.argv[2]);
  const idle = [];
  let counter = Math.floor(Math.random() * 1e9);

  /** A connection that sends one request at a time. */
  function connect() {
    const socket = net.connect({ host: "127.0.0.1", port, noDelay: true });
    const connection = { isOpen: true, ask };
    let received = "";
    let answered = () => {};
    socket.setEncoding("latin1");
    socket.on("data", (text) => {
      received += text;
      const head = received.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1]);
      if (received.length < head + 4 + length) return;
      const status = Number(received.slice(9, 12));
      const retryAfter = /retry-after: \d/i.test(received);
      if (/connection: close/i.test(received)) connection.isOpen = false;
      received = "";
      answered({ status, retryAfter });
    });
    for (const event of ["error", "close"]) {
      socket.on(event, () => {
        connection.isOpen = false;
        answered({ status: 0, retryAfter: false });
      });
    }
    function ask(path) {
      return new Promise((resolve) => {
        answered = resolve;
        socket.write(`GET ${path} HTTP/1.1\r\nHost: bench\r\n\r\n`);
      });
    }
    return connection;
  }

  function takeIdle() {
    for (let found = idle.pop(); found !== undefined; found = idle.pop()) if (found.isOpen) return found;
    return connect();
  }

  async function ask(path, began, from) {
    const connection = takeIdle();
    const answer = await connection.ask(path === "/health" ? path : `${path}?n=${counter++ % 1e9}`);
    if (connection.isOpen) idle.push(connection);
    const end = performance.now();
    return { ...answer, ms: end - from, end: end - began };
  }

  const kinds = {
    async closed({ path, clients, ms }) {
      const began = performance.now();
      const answers = [];
      const client = async () => {
        for (let from = began; from - began < ms; from = performance.now()) {
          const answer = await ask(path, began, from);
          if (answer.status === 200) answers.push(answer);
          else await new Promise((resolve) => setTimeout(resolve, 50));
        }
      };
      await Promise.all(Array.from({ length: clients }, client));
      return { answers, ms: performance.now() - began };
    },
    async open({ path, perSecond, ms, most = Number.POSITIVE_INFINITY }) {
      const began = performance.now();
      const asked = [];
      let skipped = 0;
      let inFlight = 0;
      const send = async () => {
        inFlight++;
        const answer = await ask(path, began, Math.max(began, performance.now()));
        inFlight--;
        return answer;
      };
      // The time of a request counts from when it was due, even if it was sent late.
      while (performance.now() - began < ms) {
        const due = Math.floor(((performance.now() - began) * perSecond) / 1000);
        while (asked.length + skipped <= due) {
          if (inFlight < most) asked.push(send());
          else skipped++;
        }
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return { answers: await Promise.all(asked), ms };
    },
  };
  process.on("message", async (task) => process.send(await kinds[task.kind](task)));
  process.on("disconnect", () => process.exit());
  process.send("ready");
}
