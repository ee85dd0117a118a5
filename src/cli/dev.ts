import type { Command } from "./command.ts";
import { projectOptionsHelp, readOptions } from "./options.ts";
import { runServer } from "./run-server.ts";

export const dev: Command = {
  name: "dev",
  summary: "serve the project while you edit it: reloads, prints requests and problems",
  help: `Usage: eider dev [options]

Serves the project as \`serve --watch\` does: it reloads on every change. On errors, it prints them and serves the previous
version. Each request gets a line: method, path, status, rows, time and cache. The page at /docs refreshes itself.

Options:
${projectOptionsHelp}
      --strict          treat security warnings as errors

Example:
  eider dev --config project/eider.yaml`,
  run(args, runtime) {
    const { flags, ...options } = readOptions(args, ["strict"]);
    return runServer(options, { strict: flags.has("strict"), watch: true, isDev: true }, runtime);
  },
};
