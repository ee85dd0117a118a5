// One million rows of eight columns in every streamed format: first byte, speed and memory, with a fast and a slow reader, each
// in a new process.
//   npm run build && node bench/stream.mjs [format ...]
import { openClient } from "./client.mjs";
import { printTable } from "./compare.mjs";
import { folderOf, memoryOf, resetPeak, startEider, tableSql } from "./load.mjs";

const SLOW = 25_000_000;
/** The last bytes of a complete response, in hexadecimal. */
const ends = {
  json: Buffer.from("]").toString("hex"),
  csv: Buffer.from("\r\n").toString("hex"),
  ndjson: Buffer.from("\n").toString("hex"),
  arrow: "ffffffff00000000",
};
const formats = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(ends);

const folder = folderOf({
  "eider.yaml": `connections:\n  t:\n    init: |\n      ${tableSql.replaceAll("\n", "\n      ")}\nlimits:\n  query-timeout: 120s\n`,
  "t.yaml": "url-path: /t\ntemplate-source: t.sql\nconnection: [t]\nwith-pagination: false\n",
  "t.sql": "SELECT * FROM t",
});

async function measure(format, perSecond) {
  const eider = await startEider(folder);
  await fetch(`${eider.url}/t?limit=1&format=${format}`).then((answer) => answer.arrayBuffer());
  const idle = memoryOf(eider.pid).now;
  resetPeak(eider.pid);
  let tail = "";
  const client = openClient(eider.url);
  const { status, head, bytes, first, ms } = await client.get(`/t?format=${format}`, {
    perSecond,
    onBody: (piece) => {
      tail = (tail + piece.subarray(-8).toString("hex")).slice(-16);
    },
  });
  client.close();
  if (status !== 200 || !tail.endsWith(ends[format])) throw new Error(`no whole answer, it ends with ${tail}: ${head}`);
  const most = memoryOf(eider.pid).most;
  await eider.stop();
  return {
    "first byte ms": first.toFixed(1),
    MB: Math.round(bytes / 1e6),
    "MB/s": Math.round(bytes / 1000 / ms),
    "MiB over idle": Math.round(most - idle),
    sent: /^content-length/im.test(head) ? "whole" : "chunked",
  };
}

const lines = [];
for (const format of formats) {
  for (const [reader, perSecond] of [
    ["fast", undefined],
    ["fast, again", undefined],
    ["25 MB/s", SLOW],
  ]) {
    lines.push({ format, reader, ...(await measure(format, perSecond)) });
  }
}
console.log("1,000,000 rows x 8 columns (goals: first byte of JSON within 25 ms; at most 100 MiB over idle)");
printTable(lines);
process.exit();
