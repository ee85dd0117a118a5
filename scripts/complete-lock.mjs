// Completes package-lock.json: `npm run lock`, after every `npm install`.
//
// Packages with one binary per platform list all binaries as optional dependencies. If the registry lacks some of them, npm omits
// them from the lock file, and `npm ci` then rejects it. This script adds them by name and version, so that `npm ci` works
// everywhere. On such a platform, npm fetches the package as usual.
import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));
const OS = /(android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32|aix)/;
const CPU = /(arm64|arm|x64|ia32|ppc64|riscv64|s390x|loong64|mips64el|wasm32)/;

for (const [path, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(optionalDependencies)) {
    const key = `node_modules/${name}`;
    if (lock.packages[key] !== undefined || lock.packages[`${path}/${key}`] !== undefined) continue;
    const [, os] = OS.exec(name) ?? [];
    const [, cpu] = CPU.exec(name.replace(/.*\//, "")) ?? [];
    if (cpu === undefined) throw new Error(`${name} is optional and missing, and its name contains no platform`);
    const libc = name.includes("musl") ? "musl" : name.includes("gnu") ? "glibc" : undefined;
    lock.packages[key] = {
      version: range.replace(/^[\^~]/, ""),
      cpu: [cpu],
      ...(dev && { dev: true }),
      ...(libc && { libc: [libc] }),
      optional: true,
      ...(os && { os: [os] }),
    };
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
