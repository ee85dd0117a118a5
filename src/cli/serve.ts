import type { Command } from "./command.ts";
import { projectOptionsHelp, readOptions } from "./options.ts";
import { runServer } from "./run-server.ts";

/** Serves a project until it is told to stop. */
export const serve: Command = {
  name: "serve",
  summary: "serve the project (this is what `eider` alone does)",
  help: `Usage: eider serve [options]

Serves the endpoints of a project, and prints one line per listener when it is ready. SIGHUP reads the project again; what
is in memory stays unless \`duckdb\` or \`connections\` changed.

Options:
${projectOptionsHelp}
      --strict          security warnings stop the start
      --watch           read the project again whenever one of its files changes

Example:
  eider serve --config project/eider.yaml --port 8080`,
  run(args, runtime) {
    const { flags, ...options } = readOptions(args, ["strict", "watch"]);
    return runServer(options, { strict: flags.has("strict"), watch: flags.has("watch"), isDev: false }, runtime);
  },
};
