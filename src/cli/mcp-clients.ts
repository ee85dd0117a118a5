/** How a client reaches the service: it starts the program, or it asks at an address. */
export type Reach =
  | { readonly kind: "program"; readonly command: string; readonly args: readonly string[] }
  | { readonly kind: "address"; readonly url: string };

/** A program that talks to MCP servers, and what it wants to be told. */
export interface McpClient {
  readonly name: string;
  readonly title: string;
  /** Where the text belongs. */
  readonly place: string;
  text(server: string, reach: Reach): string;
}

/** To add one, list it here. */
export const mcpClients: readonly McpClient[] = [
  {
    name: "claude-desktop",
    title: "Claude Desktop",
    place: "claude_desktop_config.json (Settings, Developer, Edit Config)",
    text: (server, reach) =>
      json({
        mcpServers: {
          // It starts programs only; this one asks at an address in its name.
          [server]: reach.kind === "program" ? program(reach) : { command: "npx", args: ["mcp-remote", reach.url] },
        },
      }),
  },
  {
    name: "claude-code",
    title: "Claude Code",
    place: ".mcp.json in the folder of your work",
    text: (server, reach) =>
      json({
        mcpServers: {
          [server]: reach.kind === "program" ? { type: "stdio", ...program(reach) } : { type: "http", url: reach.url },
        },
      }),
  },
  {
    name: "vscode",
    title: "VS Code",
    place: ".vscode/mcp.json in the folder of your work",
    text: (server, reach) =>
      json({
        servers: {
          [server]: reach.kind === "program" ? { type: "stdio", ...program(reach) } : { type: "http", url: reach.url },
        },
      }),
  },
  {
    name: "cursor",
    title: "Cursor",
    place: ".cursor/mcp.json in the folder of your work",
    text: (server, reach) =>
      json({ mcpServers: { [server]: reach.kind === "program" ? program(reach) : { url: reach.url } } }),
  },
  {
    name: "script",
    title: "A plain script",
    place: "a shell",
    text: (_server, reach) => {
      const message = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      return reach.kind === "program"
        ? `echo '${message}' | ${[reach.command, ...reach.args].map(quoted).join(" ")}\n`
        : `curl -s ${quoted(reach.url)} -H 'Content-Type: application/json' -d '${message}'\n`;
    },
  },
];

function program({ command, args }: Extract<Reach, { kind: "program" }>) {
  return { command, args };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** For a shell. */
function quoted(text: string): string {
  return /^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
