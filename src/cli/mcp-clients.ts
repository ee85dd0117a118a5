/** How a client connects to the service: it starts a program, or uses a URL. */
export type McpTransport =
  | { readonly kind: "program"; readonly command: string; readonly args: readonly string[] }
  /** `scheme` is the scheme of the `Authorization` header, if the client must send one. */
  | { readonly kind: "address"; readonly url: string; readonly scheme: "Basic" | "Bearer" | undefined };

/** The environment variable that contains the credentials of a client. */
export const TOKEN_VARIABLE = "EIDER_TOKEN";

/** An MCP client, and how to configure it. */
export interface McpClient {
  readonly name: string;
  readonly title: string;
  /** Where the user puts the configuration. */
  readonly configLocation: string;
  configText(server: string, transport: McpTransport): string;
}

/** The supported clients. To add one, list it here. */
export const mcpClients: readonly McpClient[] = [
  {
    name: "claude-desktop",
    title: "Claude Desktop",
    configLocation: "claude_desktop_config.json (Settings, Developer, Edit Config)",
    configText: (server, transport) =>
      json({
        mcpServers: { [server]: transport.kind === "program" ? programConfig(transport) : bridgeConfig(transport) },
      }),
  },
  {
    name: "claude-code",
    title: "Claude Code",
    configLocation: ".mcp.json in your project folder",
    configText: (server, transport) =>
      json({
        mcpServers: {
          [server]:
            transport.kind === "program"
              ? { type: "stdio", ...programConfig(transport) }
              : urlConfig(transport, { type: "http" }),
        },
      }),
  },
  {
    name: "vscode",
    title: "VS Code",
    configLocation: ".vscode/mcp.json in your project folder",
    configText: (server, transport) =>
      json({
        // VS Code prompts the user for the token and stores it.
        ...(needsToken(transport) ? { inputs: [TOKEN_INPUT] } : {}),
        servers: {
          [server]:
            transport.kind === "program"
              ? { type: "stdio", ...programConfig(transport) }
              : urlConfig(transport, { type: "http" }, `\${input:${TOKEN_INPUT.id}}`),
        },
      }),
  },
  {
    name: "cursor",
    title: "Cursor",
    configLocation: ".cursor/mcp.json in your project folder",
    configText: (server, transport) =>
      json({
        mcpServers: {
          [server]:
            transport.kind === "program"
              ? programConfig(transport)
              : urlConfig(transport, {}, `\${env:${TOKEN_VARIABLE}}`),
        },
      }),
  },
  {
    name: "script",
    title: "a plain script",
    configLocation: "a shell",
    configText: (_server, transport) => {
      const message = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      return transport.kind === "program"
        ? `echo '${message}' | ${[transport.command, ...transport.args].map(quoteForShell).join(" ")}\n`
        : `curl -s ${quoteForShell(transport.url)} ${curlAuthorization(transport)}-H 'Content-Type: application/json' -d '${message}'\n`;
    },
  },
];

function programConfig({ command, args }: Extract<McpTransport, { kind: "program" }>) {
  return { command, args };
}

type Address = Extract<McpTransport, { kind: "address" }>;

const TOKEN_INPUT = {
  type: "promptString",
  id: "eider-token",
  description: "Token for Eider",
  password: true,
} as const;

function needsToken(transport: McpTransport): boolean {
  return transport.kind === "address" && transport.scheme !== undefined;
}

function urlConfig({ url, scheme }: Address, more: object, token = `\${${TOKEN_VARIABLE}}`) {
  return { ...more, url, ...(scheme === undefined ? {} : { headers: { Authorization: `${scheme} ${token}` } }) };
}

const HEADER_VARIABLE = "EIDER_AUTHORIZATION";

/** Configures a bridge to the URL, for a client that can only start programs. Its arguments must not contain spaces. */
function bridgeConfig({ url, scheme }: Address) {
  const args = ["-y", "mcp-remote", url];
  if (scheme === undefined) return { command: "npx", args };
  return {
    command: "npx",
    args: [...args, "--header", `Authorization:\${${HEADER_VARIABLE}}`],
    env: { [HEADER_VARIABLE]: `${scheme} <token>` },
  };
}

function curlAuthorization({ scheme }: Address): string {
  return scheme === undefined ? "" : `-H "Authorization: ${scheme} $${TOKEN_VARIABLE}" `;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Quotes an argument for a shell. */
function quoteForShell(text: string): string {
  return /^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
