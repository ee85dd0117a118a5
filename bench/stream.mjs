// One million rows of eight columns as JSON: first byte, speed and memory, with a fast and a slow reader.
//   npm run build && node bench/stream.mjs
import net from "node:net";
import { folderOf, memoryOf, resetPeak, startEider, tableSql } from "./load.mjs";

const SLOW = 25_000_000;

const folder = folderOf({
  "eider.yaml": `connections:\n  t:\n    init: |\n      ${tableSql.replaceAll("\n", "\n      ")}\nlimits:\n  query-timeout: 120s\n`,
  "t.yaml": "url-path: /t\ntemplate-source: t.sql\nconnection: [t]\nwith-pagination: false\n",
  "t.sql": "SELECT * FROM t",
});

/** Reads one whole answer, at most `perSecond` bytes a second. */
function read(url, perSecond) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const began = performance.now();
    let first;
    let bytes = 0;
    let tail = Buffer.alloc(0);
    const socket = net.connect({ host: hostname, port: Number(port) });
    socket
      .on("connect", () => socket.write("GET /t HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n"))
      .on("error", reject);
    socket.on("data", (piece) => {
      first ??= performance.now() - began;
      bytes += piece.length;
      tail = Buffer.concat([tail, piece]).subarray(-32);
      if (perSecond === undefined) return;
      const ahead = (bytes / perSecond) * 1000 - (performance.now() - began);
      if (ahead > 5) {
        socket.pause();
        setTimeout(() => socket.resume(), ahead);
      }
    });
    socket.on("end", () => {
      if (!tail.toString().endsWith("]\r\n0\r\n\r\n")) reject(new Error(`the answer was cut: ${tail}`));
      resolve({ first, bytes, seconds: (performance.now() - began) / 1000 });
    });
  });
}

const rows = {};
for (const [name, speed] of [
  ["fast reader", undefined],
  ["fast reader, again", undefined],
  ["25 MB/s reader", SLOW],
]) {
  const eider = await startEider(folder);
  await fetch(`${eider.url}/t?limit=1`).then((answer) => answer.text());
  const idle = memoryOf(eider.pid).now;
  resetPeak(eider.pid);
  const { first, bytes, seconds } = await read(eider.url, speed);
  rows[name] = {
    "first byte ms": Number(first.toFixed(1)),
    MB: Math.round(bytes / 1e6),
    "MB/s": Math.round(bytes / 1e6 / seconds),
    "MiB over idle": Math.round(memoryOf(eider.pid).most - idle),
  };
  await eider.stop();
}
console.log("1,000,000 rows x 8 columns as JSON (goals: first byte within 25 ms, at most 100 MiB over idle)");
console.table(rows);
process.exit();
