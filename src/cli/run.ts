import { readFile } from "node:fs/promises";
import { suggestion } from "../config/suggest.ts";
import { escapeUnprintableInLines } from "../printable.ts";
import { type Command, type ExitCode, exitCodes, type Runtime, UsageError } from "./command.ts";
import { commands } from "./index.ts";

export async function runCommandLine(args: readonly string[], runtime: Runtime): Promise<ExitCode> {
  const [first, ...rest] = args;
  if (first === "--help" || first === "-h" || first === "help") {
    runtime.stdout.write(`${overview()}\n`);
    return exitCodes.done;
  }
  if (first === "--version" || first === "-v") {
    runtime.stdout.write(`eider ${await ownVersion()}\n`);
    return exitCodes.done;
  }
  const named = commands.find(({ name }) => name === first);
  try {
    if (named !== undefined) return await runCommand(named, rest, runtime);
    if (first !== undefined && !first.startsWith("-")) throw new UsageError(unknownCommandMessage(first));
    // In flAPI, this flag does what `check` does.
    const isCheck = args.includes("--validate-config");
    const others = args.filter((arg) => arg !== "--validate-config");
    return await runCommand(findCommand(isCheck ? "check" : "serve"), others, runtime);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    runtime.stderr.write(`eider: ${escapeUnprintableInLines(error.message)}\nTry: eider --help\n`);
    return exitCodes.usage;
  }
}

async function runCommand(command: Command, args: readonly string[], runtime: Runtime): Promise<ExitCode> {
  if (args.includes("--help") || args.includes("-h")) {
    runtime.stdout.write(`${command.help}\n`);
    return exitCodes.done;
  }
  if (args.some((arg) => /^--config-service(?:$|[-=])/.test(arg))) {
    runtime.stderr.write("eider: --config-service is ignored; Eider has no configuration service\n");
  }
  return command.run(args, runtime);
}

function unknownCommandMessage(name: string): string {
  const near = suggestion(
    name,
    commands.map((command) => command.name),
  );
  return `unknown command '${name}'${near === undefined ? "" : `; did you mean '${near}'?`}`;
}

function findCommand(name: string): Command {
  const command = commands.find((each) => each.name === name);
  if (command === undefined) throw new Error(`no command ${name}`);
  return command;
}

function overview(): string {
  const list = commands.map(({ name, summary }) => `  ${name.padEnd(14)} ${summary}`).join("\n");
  return `Usage: eider [command] [options]\n\nCommands:\n${list}\n\n\`eider <command> --help\` shows a command's options and an example.`;
}

async function ownVersion(): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  return String((manifest as { version?: unknown }).version);
}
