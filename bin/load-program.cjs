// Loads the program with V8's code cache, because compiling it takes longer than the rest of a startup;
// see docs/decisions/0027-code-cache.md. Without a cache that fits, V8 compiles the program as it needs it.
const { readFileSync, writeFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const { dirname, join } = require("node:path");
const { debuglog } = require("node:util");
const { setFlagsFromString } = require("node:v8");
const vm = require("node:vm");
const { crc32 } = require("node:zlib");

const PROGRAM = join(__dirname, "../dist/program/main.cjs");
const CACHE = join(__dirname, "../dist/program/main.cache");
/** Of the checksum at the start of the cache file. V8 needs its data aligned. */
const HEADER_BYTES = 8;
// NODE_DEBUG=eider prints it.
const debug = debuglog("eider");
let script;

/** The exports of the program. */
exports.loadProgram = () => {
  script = compile();
  const module = { exports: {} };
  const importModule = (name) => import(name);
  const run = script.runInThisContext();
  run(module.exports, createRequire(PROGRAM), module, PROGRAM, dirname(PROGRAM), importModule);
  return module.exports;
};

/** A function of its own: V8 frees the files read here, 3 MB, only if no running function has them in a variable. */
function compile() {
  const source = readFileSync(PROGRAM);
  const cachedData = readCache(source);
  // The fastest encoding. The program is ASCII.
  const compiled = new vm.Script(source.latin1Slice(), { filename: PROGRAM, cachedData });
  if (cachedData !== undefined) debug("code cache: %s", compiled.cachedDataRejected ? "rejected" : "used");
  return compiled;
}

/** Saves the functions that V8 has compiled since the program was loaded. For the build. */
exports.saveCodeCache = () => {
  if (crc32 === undefined) return;
  // V8 marks the cache with its flags, and the program is loaded before this one is set.
  setFlagsFromString("--heap-growing-percent=0");
  const data = script.createCachedData();
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(checksumOf(readFileSync(PROGRAM), data));
  writeFileSync(CACHE, Buffer.concat([header, data]));
};

/** V8 checks its own version and flags, but only the length of the source, and it crashes on damaged data. */
function readCache(source) {
  // Node.js before 20.15 cannot compute the checksum.
  if (crc32 === undefined) return undefined;
  try {
    const file = readFileSync(CACHE);
    const data = file.subarray(HEADER_BYTES);
    if (file.readUInt32LE() === checksumOf(source, data)) return data;
    debug("code cache: damaged, or of another build");
  } catch (error) {
    debug("code cache: %s", error.message);
  }
  return undefined;
}

function checksumOf(source, data) {
  return crc32(data, crc32(source));
}
