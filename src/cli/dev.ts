import type { Command } from "./command.ts";
import { projectOptionsHelp, readOptions } from "./options.ts";
import { runServer } from "./run-server.ts";

/** Serves a project for the person who writes it. */
export const dev: Command = {
  name: "dev",
  summary: "serve the project while you write it: reloads, shows requests and problems",
  help: `Usage: eider dev [options]

Serves the project as \`serve --watch\` does: every change of a file is taken up at once, and one with problems is told with
the line that is wrong while the project goes on as it was. Each request gets a line: method, path, status, rows, time and
cache. The page at /docs refreshes itself.

Options:
${projectOptionsHelp}
      --strict          security warnings stop the start

Example:
  eider dev --config project/eider.yaml`,
  run(args, runtime) {
    const { flags, ...options } = readOptions(args, ["strict"]);
    return runServer(options, { strict: flags.has("strict"), watch: true, isDev: true }, runtime);
  },
};
