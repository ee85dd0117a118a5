import { loadProject } from "../config/load-project.ts";
import { oneLine } from "../config/problem.ts";
import type { MainConfig } from "../config/project.ts";
import { toYaml } from "../config/to-yaml.ts";
import { describeProject } from "../docs/project-document.ts";
import { openService } from "../service.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";
import { projectOptionsHelp, readOptions } from "./options.ts";
import { hasErrors, printProblems } from "./print-problems.ts";

/** The OpenAPI document of a project, without serving it. */
export const openapi: Command = {
  name: "openapi",
  summary: "print the OpenAPI 3.1 document of a project",
  help: `Usage: eider openapi [options]

Opens the project as \`check\` does and prints the document that \`serve\` has at /docs. Runs no template and opens no port.

Options:
${projectOptionsHelp}
      --json            as JSON (the default)
      --yaml            as YAML

Example:
  eider openapi --yaml --config project/eider.yaml > openapi.yaml`,
  async run(args, runtime) {
    const { flags, config: file, ...overrides } = readOptions(args, ["json", "yaml"]);
    if (flags.has("json") && flags.has("yaml")) throw new UsageError("openapi: --json and --yaml exclude each other");
    const loaded = await loadProject({ file, cwd: runtime.cwd, env: runtime.env, overrides });
    printProblems(loaded.problems, runtime.stderr);
    if (loaded.project === undefined) return exitCodes.problem;
    const { temporary, self, env } = runtime;
    const trial = { report: () => {}, connect: true, temporary, self, env, isTrial: true };
    const { service, problems, unreachable } = await openService(loaded.project, trial);
    printProblems(problems, runtime.stderr);
    if (service === undefined) {
      if (unreachable !== undefined) runtime.stderr.write(`${oneLine(unreachable)}\n`);
      return hasErrors(problems) ? exitCodes.problem : exitCodes.unavailable;
    }
    try {
      const document = await describeProject(service, [addressOf(service.project.main)]);
      runtime.stdout.write(flags.has("yaml") ? toYaml(document) : `${JSON.stringify(document, null, 2)}\n`);
      return exitCodes.done;
    } finally {
      await service.close();
    }
  },
};

/** All addresses of a machine are none that a client could ask. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

function addressOf({ http: { host, port }, protections }: MainConfig): string {
  const scheme = protections.https?.tls === undefined ? "http" : "https";
  const name = EVERY_ADDRESS.has(host) ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return `${scheme}://${name}:${port}`;
}
