// Runs the quickstart in the real program, and saves V8's code cache after its first responses: by then, V8 has compiled the
// functions that a startup needs. Started by make-code-cache.mjs.
const { get } = require("node:http");
const { join } = require("node:path");

const QUICKSTART = join(__dirname, "../examples/quickstart/eider.yaml");
const PATHS = ["/customers", "/customers?region=north", "/customers/1", "/sales/by-month"];

const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (text, ...rest) => {
  const url = /^REST listening on (\S+)/.exec(text)?.[1];
  if (url !== undefined) finish(url).catch(fail);
  return write(text, ...rest);
};
process.argv.splice(2, process.argv.length, "serve", "--config", QUICKSTART, "--port", "0");
require("../bin/eider.cjs");

async function finish(url) {
  for (const path of PATHS) await read(url + path);
  const { saveCodeCache } = require("../bin/load-program.cjs");
  saveCodeCache();
  process.kill(process.pid, "SIGTERM");
}

function read(url) {
  return new Promise((resolve, reject) => {
    get(url, { agent: false, headers: { accept: "*/*" } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: status ${response.statusCode}`));
      response.on("end", resolve).resume();
    }).on("error", reject);
  });
}

function fail(error) {
  console.error(error);
  process.exit(1);
}
