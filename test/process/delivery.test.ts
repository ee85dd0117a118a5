import { execFile, spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { argumentsIn, imageEnvironment, lastOf } from "../dockerfile.ts";
import { until } from "../until.ts";
import { folderWith } from "./program.ts";

const root = resolve(import.meta.dirname, "../..");
/** `nobody`, where the test may choose. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

const PROJECT = {
  "project/eider.yaml":
    "connections:\n  memory: {}\nduckdb:\n  temp_directory: ../tmp\n  max_memory: 100MB\n  threads: 2\n",
  // Larger than the memory: some of it goes to disk.
  "project/large.yaml": "url-path: /large\ntemplate-source: large.sql\nconnection: [memory]\n",
  "project/large.sql":
    "SELECT count(*) AS n FROM (SELECT t, count(*) FROM (SELECT repeat(range::VARCHAR, 20) AS t FROM range(1500000)) GROUP BY t)\n",
};

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly devOptional?: boolean }>>;
}

/** What `npm ci --omit=dev` would put there, from what is installed here. */
function linkDependencies(app: string): void {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  const wanted = Object.entries(packages).filter(([path, { dev, devOptional }]) => {
    const isTop = path.startsWith("node_modules/") && path.lastIndexOf("node_modules/") === 0;
    return isTop && dev !== true && devOptional !== true;
  });
  const installed = new Set(
    readdirSync(join(root, "node_modules")).flatMap((name) =>
      name.startsWith("@") ? readdirSync(join(root, "node_modules", name)).map((each) => `${name}/${each}`) : [name],
    ),
  );
  for (const [path] of wanted) {
    if (!installed.has(path.slice("node_modules/".length))) continue;
    mkdirSync(dirname(join(app, path)), { recursive: true });
    symlinkSync(join(root, path), join(app, path));
  }
}

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.startsWith("node_modules"))
    .toSorted();

test("the image as the Dockerfile makes it: not root, nothing writable but /tmp, healthy, stops in peace", async () => {
  await using folder = await folderWith(PROJECT);
  const [app, project, temporary] = ["app", "project", "tmp"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(app);
  mkdirSync(temporary);
  chmodSync(temporary, 0o777);
  for (const name of ["bin", "dist", "package.json"]) cpSync(join(root, name), join(app, name), { recursive: true });
  linkDependencies(app);
  const before = [filesIn(app), filesIn(project)];
  for (const path of [project, app, folder.path]) chmodSync(path, 0o555);

  const place = (text: string): string => text.replace("/app/", `${app}/`).replace("/project/", `${project}/`);
  const [, program = ""] = argumentsIn(lastOf("ENTRYPOINT")).map(place);
  const args = argumentsIn(lastOf("CMD")).map(place);
  const env = { PATH: process.env["PATH"], TMPDIR: temporary, HOME: "/nonexistent", ...imageEnvironment() };
  const local = { EIDER_HOST: "127.0.0.1", EIDER_PORT: "0" };
  const child = spawn(process.execPath, [program, ...args], { cwd: project, env: { ...env, ...local }, ...identity });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  const exited = new Promise<number | null>((done) => child.once("close", done));
  try {
    const url = await until(
      "the line of the listener",
      () => /REST listening on (\S+)/.exec(said)?.[1] ?? (child.exitCode !== null && "none"),
    );
    expect([url, said]).not.toEqual(["none", said]);
    const large = fetch(`${url}/large`).then((answer) => answer.json());
    await until("a file of what does not fit into memory", () =>
      filesIn(temporary).some((name) => /duckdb/.test(name)),
    );
    expect(await large).toMatchObject({ data: [{ n: 1_500_000 }] });

    const [, ...check] = argumentsIn(lastOf("HEALTHCHECK"));
    const healthEnv = { PATH: process.env["PATH"], EIDER_PORT: new URL(url).port };
    await promisify(execFile)(process.execPath, check, { env: healthEnv });
    await expect(
      promisify(execFile)(process.execPath, check, { env: { ...healthEnv, EIDER_PORT: "1" } }),
    ).rejects.toThrow();

    child.kill("SIGTERM");
    expect(await exited).toBe(0);
    expect([filesIn(app), filesIn(project)]).toEqual(before);
    expect(filesIn(temporary)).toEqual([]);
  } finally {
    child.kill("SIGKILL");
    await exited;
    chmodSync(folder.path, 0o755);
  }
});
