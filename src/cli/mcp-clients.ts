/** How a client reaches the service: it starts a program, or connects to a URL. */
export type Reach =
  | { readonly kind: "program"; readonly command: string; readonly args: readonly string[] }
  /** `scheme` is the scheme of the `Authorization` header, if the client must send one. */
  | { readonly kind: "address"; readonly url: string; readonly scheme: "Basic" | "Bearer" | undefined };

/** The environment variable from which clients read the credentials. */
export const TOKEN_VARIABLE = "EIDER_TOKEN";

/** An MCP client, and its configuration. */
export interface McpClient {
  readonly name: string;
  readonly title: string;
  /** Where the configuration belongs. */
  readonly configLocation: string;
  text(server: string, reach: Reach): string;
}

/** The supported clients. To add one, list it here. */
export const mcpClients: readonly McpClient[] = [
  {
    name: "claude-desktop",
    title: "Claude Desktop",
    configLocation: "claude_desktop_config.json (Settings, Developer, Edit Config)",
    text: (server, reach) =>
      json({ mcpServers: { [server]: reach.kind === "program" ? program(reach) : remote(reach) } }),
  },
  {
    name: "claude-code",
    title: "Claude Code",
    configLocation: ".mcp.json in your project folder",
    text: (server, reach) =>
      json({
        mcpServers: {
          [server]: reach.kind === "program" ? { type: "stdio", ...program(reach) } : address(reach, { type: "http" }),
        },
      }),
  },
  {
    name: "vscode",
    title: "VS Code",
    configLocation: ".vscode/mcp.json in your project folder",
    text: (server, reach) =>
      json({
        // VS Code prompts its user and stores the token.
        ...(needsToken(reach) ? { inputs: [TOKEN_INPUT] } : {}),
        servers: {
          [server]:
            reach.kind === "program"
              ? { type: "stdio", ...program(reach) }
              : address(reach, { type: "http" }, `\${input:${TOKEN_INPUT.id}}`),
        },
      }),
  },
  {
    name: "cursor",
    title: "Cursor",
    configLocation: ".cursor/mcp.json in your project folder",
    text: (server, reach) =>
      json({
        mcpServers: {
          [server]: reach.kind === "program" ? program(reach) : address(reach, {}, `\${env:${TOKEN_VARIABLE}}`),
        },
      }),
  },
  {
    name: "script",
    title: "a plain script",
    configLocation: "a shell",
    text: (_server, reach) => {
      const message = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      return reach.kind === "program"
        ? `echo '${message}' | ${[reach.command, ...reach.args].map(quoted).join(" ")}\n`
        : `curl -s ${quoted(reach.url)} ${authorization(reach)}-H 'Content-Type: application/json' -d '${message}'\n`;
    },
  },
];

function program({ command, args }: Extract<Reach, { kind: "program" }>) {
  return { command, args };
}

type Address = Extract<Reach, { kind: "address" }>;

const TOKEN_INPUT = {
  type: "promptString",
  id: "eider-token",
  description: "Token for Eider",
  password: true,
} as const;

function needsToken(reach: Reach): boolean {
  return reach.kind === "address" && reach.scheme !== undefined;
}

function address({ url, scheme }: Address, more: object, token = `\${${TOKEN_VARIABLE}}`) {
  return { ...more, url, ...(scheme === undefined ? {} : { headers: { Authorization: `${scheme} ${token}` } }) };
}

const HEADER_VARIABLE = "EIDER_AUTHORIZATION";

/** A bridge to the URL, for a client that only starts programs. Its arguments must not contain spaces. */
function remote({ url, scheme }: Address) {
  const args = ["-y", "mcp-remote", url];
  if (scheme === undefined) return { command: "npx", args };
  return {
    command: "npx",
    args: [...args, "--header", `Authorization:\${${HEADER_VARIABLE}}`],
    env: { [HEADER_VARIABLE]: `${scheme} <token>` },
  };
}

function authorization({ scheme }: Address): string {
  return scheme === undefined ? "" : `-H "Authorization: ${scheme} $${TOKEN_VARIABLE}" `;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Quotes an argument for a shell. */
function quoted(text: string): string {
  return /^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
