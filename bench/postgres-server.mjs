// Shared by the benchmarks: a Postgres server in a temporary folder, on the loopback address.
import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, readdirSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { folderOf } from "./load.mjs";

/** Debian does not install the server in PATH, but in one folder per version. */
const DEBIAN = "/usr/lib/postgresql";
export const USER = "bench";

/** Starts a server without a password. Returns its connection string for libpq, and how many sessions have been opened. */
export async function startPostgres() {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  if (versions.length === 0) throw new Error(`there is no Postgres in ${DEBIAN}`);
  const program = (name) => join(DEBIAN, versions[0], "bin", name);
  const folder = folderOf({});
  // Postgres does not run as root.
  const owner = process.getuid() === 0 ? ownerOf("postgres") : {};
  if (owner.uid !== undefined) chownSync(folder, owner.uid, owner.gid);
  const data = join(folder, "data");
  const options = { ...owner, cwd: folder, stdio: "ignore", env: { LC_ALL: "C" } };
  execFileSync(program("initdb"), ["-D", data, "-U", USER, "-A", "trust", "--no-sync", "--locale=C"], options);
  const port = await freePort();
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections: 200,
    log_connections: "on",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = spawn(program("postgres"), ["-D", data, ...args], { ...options, stdio: ["ignore", "ignore", "pipe"] });
  process.once("exit", () => child.kill("SIGQUIT"));
  let sessions = 0;
  await new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`postgres ended with ${code}`)));
    child.stderr.on("data", (bytes) => {
      const text = bytes.toString();
      sessions += text.split("connection authorized").length - 1;
      if (text.includes("ready to accept connections")) resolve();
    });
  });
  return { port, dsn: `host=127.0.0.1 port=${port} user=${USER} dbname=postgres`, sessions: () => sessions };
}

function ownerOf(user) {
  const [uid, gid] = ["-u", "-g"].map((what) => Number(execFileSync("id", [what, user], { encoding: "utf8" })));
  return { uid, gid };
}

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
