// An HTTP client for large responses. It counts their bytes without storing them, to leave the CPU to the server.
import net from "node:net";

const BUFFER_BYTES = 256 * 1024;
/** A response that takes longer counts as hanging. */
const PATIENCE_MS = 60_000;

/** Parses responses as their bytes arrive, by Content-Length or in chunks. A piece is only valid until the next one. */
function answerReader({ onHead, onBody, onEnd }) {
  let state = "head";
  let text = "";
  let left = 0;

  function onLine() {
    if (state === "head") {
      if (!text.endsWith("\r\n\r\n")) return;
      const length = /^content-length: (\d+)/im.exec(text)?.[1];
      onHead(text);
      left = Number(length ?? 0);
      state = length === undefined ? "size" : "body";
      if (left === 0 && state === "body") end();
    } else if (state === "size") {
      // An empty line ends the previous chunk.
      if (text !== "\r\n") {
        left = Number.parseInt(text, 16);
        state = left === 0 ? "trailer" : "chunk";
      }
    } else if (text === "\r\n") end();
    text = "";
  }

  function end() {
    state = "head";
    text = "";
    onEnd();
  }

  return (piece) => {
    let at = 0;
    while (at < piece.length) {
      if (state === "body" || state === "chunk") {
        const part = piece.subarray(at, at + left);
        at += part.length;
        left -= part.length;
        onBody(part);
        if (left > 0) continue;
        if (state === "body") end();
        else state = "size";
      } else {
        const line = piece.indexOf(10, at);
        const to = line < 0 ? piece.length : line + 1;
        text += piece.latin1Slice(at, to);
        at = to;
        if (line >= 0) onLine();
      }
    }
  };
}

/** One connection, which sends one request at a time. */
export function openClient(url) {
  const { hostname, port } = new URL(url);
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  /** The current request. */
  let asked;
  const read = answerReader({
    onHead(head) {
      asked.head = head;
    },
    onBody(piece) {
      asked.bytes += piece.length;
      asked.onBody?.(piece);
    },
    onEnd() {
      const { head, bytes, first, began, resolve } = asked;
      asked = undefined;
      resolve({ status: Number(head.slice(9, 12)), head, bytes, first, ms: performance.now() - began });
    },
  });
  const socket = net.connect({
    host: hostname,
    port: Number(port),
    noDelay: true,
    onread: {
      buffer,
      callback(count) {
        if (asked === undefined) return true;
        asked.first ??= performance.now() - asked.began;
        read(buffer.subarray(0, count));
        if (asked?.perSecond !== undefined) holdBack(asked);
        return true;
      },
    },
  });
  function holdBack({ bytes, began, perSecond }) {
    const ahead = (bytes / perSecond) * 1000 - (performance.now() - began);
    if (ahead <= 5) return;
    socket.pause();
    setTimeout(() => socket.resume(), ahead);
  }
  function fail(error) {
    asked?.reject(error);
    asked = undefined;
  }
  socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error(`no byte within ${PATIENCE_MS / 1000} s`)));
  socket.on("error", fail).on("close", () => fail(new Error("the connection was closed")));

  return {
    /**
     * Returns status, headers, bytes of the body, and the milliseconds to the first and to the last byte. `perSecond` slows
     * down reading. `onBody` gets each piece. Rejects if the response is incomplete.
     */
    get(path, { headers = {}, perSecond, onBody } = {}) {
      return new Promise((resolve, reject) => {
        asked = { bytes: 0, began: performance.now(), perSecond, onBody, resolve, reject };
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
        socket.write(`GET ${path} HTTP/1.1\r\nHost: bench\r\n${lines.join("")}\r\n`);
      });
    },
    /** Disconnects immediately, even during a response. */
    close: () => socket.destroy(),
  };
}

/** Like `load` in load.mjs, but for large responses of exactly `bytes` each. `path` gets the number of the request. */
export async function loadLarge(url, { clients, requests, path, headers, bytes }) {
  let sent = 0;
  const began = performance.now();
  const work = async () => {
    const client = openClient(url);
    while (sent < requests) {
      const answer = await client.get(path(sent++), { headers });
      if (answer.status !== 200 || answer.bytes !== bytes)
        throw new Error(`${answer.bytes} bytes instead of ${bytes}: ${answer.head}`);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: clients }, work));
  return { perSecond: (requests / (performance.now() - began)) * 1000 };
}
