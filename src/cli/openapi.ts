import type { MainConfig } from "../config/project.ts";
import { toYaml } from "../config/to-yaml.ts";
import { describeProject } from "../docs/project-document.ts";
import { type Command, UsageError } from "./command.ts";
import { listenerUrl } from "./listener-url.ts";
import { projectOptionsHelp, readOptions } from "./options.ts";
import { withProject } from "./with-project.ts";

export const openapi: Command = {
  name: "openapi",
  summary: "print the OpenAPI 3.1 document of a project",
  help: `Usage: eider openapi [options]

Opens the project as \`check\` does and prints the document that \`serve\` serves at /docs. Runs no template and opens no
port.

Options:
${projectOptionsHelp}
      --json            print JSON (default)
      --yaml            print YAML

Example:
  eider openapi --yaml --config project/eider.yaml > openapi.yaml`,
  async run(args, runtime) {
    const { flags, ...options } = readOptions(args, ["json", "yaml"]);
    if (flags.has("json") && flags.has("yaml")) throw new UsageError("openapi: use either --json or --yaml");
    return await withProject(options, runtime, {
      purpose: "check",
      copiesLocked: true,
      async run(service) {
        const document = await describeProject(service, [addressOf(service.project.main)]);
        runtime.stdout.write(flags.has("yaml") ? toYaml(document) : `${JSON.stringify(document, null, 2)}\n`);
        return undefined;
      },
    });
  },
};

function addressOf({ http, access }: MainConfig): string {
  return listenerUrl({ ...http, isSecure: access.https?.tls !== undefined }, "localhost");
}
