import { resolve } from "node:path";
import { anonymous, type Identity, identityOf, splitNames } from "../auth/identity.ts";
import { loadProject } from "../config/load-project.ts";
import { defaultMcpSettings } from "../config/mcp-config.ts";
import type { MainConfig } from "../config/project.ts";
import type { Report } from "../events.ts";
import type { Service } from "../service/service.ts";
import { serveStdio } from "../serving/serve-stdio.ts";
import { type Command, type ExitCode, exitCodes, type Runtime, UsageError } from "./command.ts";
import { listenerUrl } from "./listener-url.ts";
import { type McpClient, type McpTransport, mcpClients, TOKEN_VARIABLE } from "./mcp-clients.ts";
import { openLog } from "./open-log.ts";
import { loadOptionsOf, type ProjectOptions, projectOptionsHelp, readOptionsAndNames } from "./options.ts";
import { printProblems } from "./print-problems.ts";
import { withProject } from "./with-project.ts";

export const mcp: Command = {
  name: "mcp",
  summary: "serve the project to an AI agent over stdio",
  help: `Usage: eider mcp [options]

Serves MCP over standard input and output, one message per line, until the input ends. Problems and the log go to
standard error. The stdio transport has no authentication; EIDER_MCP_USERNAME, EIDER_MCP_ROLES (comma-separated) and
EIDER_MCP_EMAIL set the identity for templates that read auth.*.

Options:
${projectOptionsHelp}
      --stdio           use stdio (default)
      --print-config    print the configuration of a client: ${mcpClients.map(({ name }) => name).join(", ")}
      --http            with --print-config: connect to a running service on mcp.port

Example:
  eider mcp --config project/eider.yaml
  eider mcp --print-config claude-desktop --config project/eider.yaml`,
  async run(args, runtime) {
    const { flags, positionals, ...options } = readOptionsAndNames(args, ["stdio", "print-config", "http"]);
    if (flags.has("print-config")) {
      return await printConfig(findClient(positionals), { options, isHttp: flags.has("http") }, runtime);
    }
    if (positionals.length > 0) throw new UsageError(`mcp takes no names; found '${positionals[0]}'`);
    if (flags.has("http")) throw new UsageError("--http is only valid with --print-config");
    return await withProject(options, runtime, {
      purpose: "serve",
      copiesLocked: true,
      reportOf: (project) => openLog(project, runtime),
      run: (service, report) => serveMcp(service, report, runtime),
    });
  },
};

function findClient(names: readonly string[]): McpClient {
  const [name, ...others] = names;
  const known = mcpClients.map((client) => client.name).join(", ");
  if (name === undefined || others.length > 0) throw new UsageError(`--print-config takes one of ${known}`);
  const client = mcpClients.find((each) => each.name === name);
  if (client === undefined) throw new UsageError(`--print-config: '${name}' is not valid; use one of ${known}`);
  return client;
}

interface PrintConfigOptions {
  readonly options: ProjectOptions;
  readonly isHttp: boolean;
}

async function printConfig(
  client: McpClient,
  { options, isHttp }: PrintConfigOptions,
  runtime: Runtime,
): Promise<ExitCode> {
  const { project, problems } = await loadProject({ ...loadOptionsOf(options, runtime), isOffline: true });
  if (project === undefined) {
    printProblems(problems, runtime.stderr);
    return exitCodes.problem;
  }
  const { main } = project;
  if (isHttp && main.mcp === undefined) {
    runtime.stderr.write("the project has no mcp block, so no port serves MCP; add 'mcp: {enabled: true}'\n");
    return exitCodes.problem;
  }
  const transport: McpTransport = isHttp
    ? { kind: "address", url: addressOf(main), scheme: schemeOf(main) }
    : { kind: "program", command: "eider", args: ["mcp", "--config", resolve(runtime.cwd, main.file)] };
  runtime.stderr.write(`For ${client.title}: ${client.configLocation}\n`);
  if (transport.kind === "address" && transport.scheme !== undefined)
    runtime.stderr.write(`${tokenHint(transport.scheme)}\n`);
  runtime.stdout.write(client.configText(main.name, transport));
  return exitCodes.done;
}

/** The URL for clients. */
function addressOf({ mcp: settings = defaultMcpSettings(), access }: MainConfig): string {
  const { publicUrl, host, port } = settings;
  if (publicUrl !== undefined) return publicUrl.endsWith("/mcp") ? publicUrl : `${publicUrl}/mcp`;
  return `${listenerUrl({ host, port, isSecure: access.https?.tls !== undefined }, "127.0.0.1")}/mcp`;
}

/** The scheme of the credentials to configure. With an identity provider, clients get a token themselves. */
function schemeOf({ mcp: settings }: MainConfig): "Basic" | "Bearer" | undefined {
  switch (settings?.auth?.policy.kind) {
    case "basic":
      return "Basic";
    case "bearer":
      return "Bearer";
    case "oidc":
    case undefined:
      return undefined;
  }
}

function tokenHint(scheme: "Basic" | "Bearer"): string {
  const what = scheme === "Bearer" ? "the token" : "user:password in base64";
  return `mcp.auth requires credentials: set ${TOKEN_VARIABLE}, or its placeholder, to ${what}`;
}

async function serveMcp(service: Service, report: Report, runtime: Runtime): Promise<ExitCode> {
  const { stdout, stderr, env } = runtime;
  const problem = await serveStdio(service, {
    report,
    now: runtime.now,
    identity: identityFrom({ ...service.project.envFile, ...env }),
    input: runtime.stdin(),
    write: (line) => stdout.write(line),
    audit: (line) => stderr.write(line),
    onStop: runtime.onStop,
  });
  if (problem === undefined) return exitCodes.done;
  printProblems([problem], stderr);
  return exitCodes.problem;
}

/** The identity of the client that started this program, from the environment. */
function identityFrom(env: Runtime["env"]): Identity {
  const { EIDER_MCP_USERNAME: username, EIDER_MCP_ROLES: roles, EIDER_MCP_EMAIL: email } = env;
  if (username === undefined || username === "") return anonymous;
  return identityOf({ type: "basic", username, email, roles: splitNames(roles ?? "") });
}
