import type { Command } from "./command.ts";
import { projectOptionsHelp, readOptions } from "./options.ts";
import { runServer } from "./run-server.ts";

export const serve: Command = {
  name: "serve",
  summary: "serve the project (default)",
  help: `Usage: eider serve [options]

Serves the endpoints of a project, and prints one line per listener when it is ready. SIGHUP reloads the project; data in
memory stays unless a setting of the database changed (see docs/command-line.md).

Options:
${projectOptionsHelp}
      --strict          treat security warnings as errors
      --watch           reload whenever a file of the project changes

Example:
  eider serve --config project/eider.yaml --port 8080`,
  run(args, runtime) {
    const { flags, ...options } = readOptions(args, ["strict", "watch"]);
    return runServer(options, { strict: flags.has("strict"), watch: flags.has("watch"), isDev: false }, runtime);
  },
};
