import { resolve } from "node:path";
import { splitNames } from "../auth/identity.ts";
import { openFiles } from "../config/files.ts";
import type { Problem } from "../config/problem.ts";
import type { Report } from "../events.ts";
import { formats } from "../formats/index.ts";
import type { InProcessResponse } from "../http/in-process.ts";
import type { ToolResult } from "../mcp/mcp-service.ts";
import { escapeUnprintableInLines } from "../printable.ts";
import type { Service } from "../service/service.ts";
import { type CallOnceOptions, type CallUser, callToolOnce, requestOnce } from "../serving/call-once.ts";
import { argumentsFor, requestFor } from "./call-request.ts";
import { type CallArguments, type CallTarget, findCallTarget, readCallArguments } from "./call-target.ts";
import { type Command, type ExitCode, exitCodes, type Runtime, UsageError } from "./command.ts";
import { openLog } from "./open-log.ts";
import { projectOptionsHelp, readOptionsAndNames } from "./options.ts";
import { printProblems } from "./print-problems.ts";
import { printAsJson, printBody, printHead, printRows } from "./print-response.ts";
import { withProject } from "./with-project.ts";

const FORMATS = formats.map(({ name }) => name);
/** A terminal cannot show these. */
const BINARY: ReadonlySet<string> = new Set(["arrow", "parquet"]);

export const call: Command = {
  name: "call",
  summary: "call one endpoint or tool without a port and print the response",
  help: `Usage: eider call [METHOD] PATH [name=value ...] [@FILE | -] [options]
       eider call TOOL [name=value ...] [options]

Calls an endpoint as a REST request does, or a tool as an MCP client does, and prints the response. A write changes the
data. PATH is that of the endpoint file (/customers/:id), of OpenAPI (/customers/{id}) or one with values (/customers/7).
Each value goes where the endpoint declares it: path, query, header or body. @FILE or - (standard input) is the whole
body, in JSON. The status and the headers go to standard error. The exit code is 0 if the status is 2xx, otherwise 1.

Options:
${projectOptionsHelp}
      --format FORMAT   ${FORMATS.join(", ")} (default: json; on a terminal, a table)
      --user NAME       call as this user, without credentials
      --roles NAMES     roles of the user, separated by commas
      --json            print status, headers and body as one JSON document

Example:
  eider call /customers/:id id=7 --config project/eider.yaml`,
  async run(args, runtime) {
    const { flags, values, positionals, ...options } = readOptionsAndNames(args, ["json"], ["format", "user", "roles"]);
    const named = readCallArguments("call", positionals);
    const output = outputOf(values.get("format"), flags.has("json"), runtime);
    const user = userOf(values);
    return await withProject(options, runtime, {
      purpose: "maintain",
      copiesLocked: true,
      reportOf: (project) => openLog(project, runtime),
      run: async (service, report) => {
        const target = findCallTarget(service.endpoints, named);
        return await callTarget(target, { named, output, user, service, report }, runtime);
      },
    });
  },
};

interface CallOutput {
  readonly format: string | undefined;
  readonly isJson: boolean;
}

function outputOf(format: string | undefined, isJson: boolean, { stdout }: Runtime): CallOutput {
  if (format !== undefined && !FORMATS.includes(format))
    throw new UsageError(`--format: '${format}' is not valid; use one of ${FORMATS.join(", ")}`);
  if (format !== undefined && BINARY.has(format) && stdout.isTerminal && !isJson)
    throw new UsageError(`--format: ${format} is binary; redirect it to a file`);
  return { format, isJson };
}

/** The user that `--user` and `--roles` describe. */
export function userOf(values: ReadonlyMap<string, string>): CallUser | undefined {
  const [username, roles] = [values.get("user"), values.get("roles")];
  if (username === undefined && roles !== undefined) throw new UsageError("--roles is only valid with --user");
  return username === undefined ? undefined : { username, roles: splitNames(roles ?? "") };
}

interface CallInput {
  readonly named: CallArguments;
  readonly output: CallOutput;
  readonly user: CallUser | undefined;
  readonly service: Service;
  readonly report: Report;
}

async function callTarget(target: CallTarget, input: CallInput, runtime: Runtime): Promise<ExitCode> {
  const { named, output, user, service, report } = input;
  const options: CallOnceOptions = { user, report, now: runtime.now, audit: (line) => runtime.stderr.write(line) };
  if (target.kind === "tool") {
    if (output.format !== undefined) throw new UsageError("--format is only valid for an endpoint with a path");
    if (named.bodySource !== undefined) throw new UsageError("a tool has no body; write name=value");
    const args = argumentsFor(target, named.values);
    return finish(await callToolOnce(service, { name: target.name, args }, options), runtime, (result) =>
      printTool(result, output, runtime),
    );
  }
  const body = named.bodySource === undefined ? undefined : await readBody(named.bodySource, runtime);
  const request = requestFor(target, { values: named.values, body, format: output.format });
  const use = (response: InProcessResponse): Promise<ExitCode> => printCall(response, output, runtime);
  return finish(await requestOnce(service, request, { ...options, use }), runtime, (code) => code);
}

function finish<T>(result: T | Problem, runtime: Runtime, print: (result: T) => ExitCode): ExitCode {
  if (typeof result !== "object" || result === null || !("severity" in result)) return print(result as T);
  printProblems([result], runtime.stderr);
  return exitCodes.problem;
}

async function printCall(
  response: InProcessResponse,
  { format, isJson }: CallOutput,
  runtime: Runtime,
): Promise<ExitCode> {
  try {
    if (isJson) await printAsJson(response, runtime);
    else {
      printHead(response, runtime);
      await (format === undefined && runtime.stdout.isTerminal ? printRows : printBody)(response, runtime);
    }
  } catch (error) {
    // Eider resets the connection if a response that has begun fails.
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ECONNRESET") throw error;
    runtime.stderr.write("the response is incomplete: the query failed after the first rows\n");
    return exitCodes.problem;
  }
  return response.status >= 200 && response.status < 300 ? exitCodes.done : exitCodes.problem;
}

function printTool(result: ToolResult, { isJson }: CallOutput, { stdout }: Runtime): ExitCode {
  const { content, structuredContent, isError } = result;
  if (isJson) {
    const structured = structuredContent === undefined ? "" : `"structuredContent":${structuredContent},`;
    stdout.write(`{${structured}"content":${content},"isError":${isError}}\n`);
  } else {
    // Blocks of a tool: text, or an image or sound in base64.
    const blocks = JSON.parse(content) as readonly { readonly text?: string }[];
    for (const block of blocks) {
      const text = block.text ?? JSON.stringify(block);
      stdout.write(`${stdout.isTerminal ? escapeUnprintableInLines(text) : text}\n`);
    }
  }
  return isError ? exitCodes.problem : exitCodes.done;
}

async function readBody(source: string, { cwd, stdin }: Runtime): Promise<string> {
  if (source === "-") {
    const pieces: Uint8Array[] = [];
    for await (const piece of stdin().readPlain()) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  }
  const file = openFiles(cwd).read(resolve(cwd, source));
  if (file.ok) return file.text;
  const reason = file.why.kind === "unreadable" ? file.why.reason : "there is no such file";
  throw new UsageError(`cannot read '${source}' (${reason})`);
}
