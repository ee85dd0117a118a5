import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { loadProject } from "../src/config/load-project.ts";
import { formatProblem } from "../src/config/problem.ts";
import { openService } from "../src/service/service.ts";
import { withTestSettings } from "./odd-settings.ts";
import { testSelf } from "./self.ts";
import { type ServedFolder, serveFolder } from "./serve-folder.ts";

/** The files of a project, by name. Without `eider.yaml`, a default one is used. */
export type Files = Readonly<Record<string, string>>;

export interface TestService extends ServedFolder {
  readonly folder: string;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  request(path: string, init: RequestInit): Promise<Response>;
  json(path: string): Promise<unknown>;
}

const MAIN = "connections:\n  memory: {}\n";

export async function writeFiles(files: Files): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "eider-test-"));
  for (const [name, text] of Object.entries({ "eider.yaml": MAIN, ...files })) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), name === "eider.yaml" ? withTestSettings(text) : text);
  }
  return folder;
}

/** Serves a project on a free port, from files in a temporary folder, which is deleted afterwards. */
export async function serviceFrom(files: Files, env: Record<string, string> = {}): Promise<TestService> {
  const folder = await writeFiles(files);
  const remove = (): Promise<void> => rm(folder, { recursive: true });
  const served = await serveFolder(folder, env).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  const request = (path: string, init: RequestInit): Promise<Response> => fetch(served.url + path, init);
  return {
    ...served,
    folder,
    request,
    get: (path, headers = {}) => request(path, { headers }),
    json: async (path) => (await request(path, {})).json(),
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await remove();
    },
  };
}

/** The problems that `eider serve` would print. */
export async function problemsFrom(files: Files, env: Record<string, string> = {}): Promise<string[]> {
  const folder = await writeFiles(files);
  try {
    const loaded = await loadProject({ file: undefined, cwd: folder, env, overrides: {}, temporaryFiles: testSelf });
    const opened =
      loaded.project &&
      (await openService(loaded.project, { report: () => {}, connect: true, ...testSelf, env, purpose: "maintain" }));
    await opened?.service?.close();
    return [...loaded.problems, ...(opened?.problems ?? [])].map(formatProblem);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The files of an endpoint `/x` on the connection `memory`, from its SQL and further YAML. */
export function endpoint(sql: string, yaml = ""): Files {
  return {
    "x.yaml": `url-path: /x\ntemplate-source: x.sql\nconnection: [memory]\n${yaml}`,
    "x.sql": sql,
  };
}
