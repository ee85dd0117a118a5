import { loadProject } from "../config/load-project.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";
import { completionScript, shells } from "./completion-scripts.ts";
import { loadOptionsOf, projectOptionsHelp, readOptionsAndNames } from "./options.ts";
import { printProblems } from "./print-problems.ts";

/** The command that prints completion scripts for these commands. */
export function completionOf(commands: () => readonly Command[]): Command {
  return {
    name: "completion",
    summary: "print a script that completes commands, options and endpoints in a shell",
    help: `Usage: eider completion bash | zsh | fish
       eider completion names [options]

Prints the completion script of a shell: it completes commands, options, and the endpoints and tools of the project in
the working directory. names prints these endpoints and tools, for the scripts; it opens no connection.

Options:
${projectOptionsHelp}

Example:
  eval "$(eider completion bash)"`,
    async run(args, runtime) {
      const { flags: _, values: __, positionals, ...options } = readOptionsAndNames(args, []);
      const [what, ...others] = positionals;
      const shell = shells.find((each) => each === what);
      if ((shell === undefined && what !== "names") || others.length > 0)
        throw new UsageError(`completion: expected one of ${shells.join(", ")}, names`);
      if (shell !== undefined) {
        runtime.stdout.write(completionScript(shell, commands()));
        return exitCodes.done;
      }
      const { validPart, problems } = await loadProject({ ...loadOptionsOf(options, runtime), isOffline: true });
      if (validPart === undefined) {
        printProblems(problems, runtime.stderr);
        return exitCodes.problem;
      }
      const names = validPart.endpoints.flatMap(({ rest, mcp }) => [
        ...(rest === undefined ? [] : [rest.urlPath]),
        ...(mcp?.kind === "tool" ? [mcp.name] : []),
      ]);
      for (const name of [...new Set(names)].sort()) runtime.stdout.write(`${name}\n`);
      return exitCodes.done;
    },
  };
}
