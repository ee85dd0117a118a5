import { expect } from "vitest";
import { whoEndpoint, whoRow } from "../mcp-auth.ts";
import { freePort, startMcp } from "../mcp-program.ts";
import { sdkV1, sdkV2Client, testWithMcpTools } from "../mcp-tools.ts";
import { client, startProvider } from "../oidc-provider.ts";

/** A client that knows nothing but our address finds the provider, gets a token and comes back with it. */

const INFO = { name: "test", version: "1" };

testWithMcpTools("A32 from a refusal to a token and back, with the second SDK and a real provider", async () => {
  await using provider = await startProvider();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const oidc = `issuer-url: "${provider.issuer}", client-id: ${client.id}, allowed-audiences: ["${url}"], scopes: [read]`;
  await using program = await startMcp({
    "eider.yaml": `http-port: 0\nconnections: { db: {} }\nmcp: { port: ${port}, auth: { type: oidc, oidc: { ${oidc} } } }\n`,
    ...whoEndpoint("who"),
  });
  expect(program.mcp).toBe(url);

  const refused = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  });
  const metadata = `http://127.0.0.1:${port}/.well-known/oauth-protected-resource/mcp`;
  const { Client, StreamableHTTPClientTransport, ClientCredentialsProvider, extractWWWAuthenticateParams } =
    await import(sdkV2Client());
  const { extractWWWAuthenticateParams: extractV1 } = await import(sdkV1("client/auth.js"));
  for (const extract of [extractWWWAuthenticateParams, extractV1]) {
    const { resourceMetadataUrl, scope } = extract(refused);
    expect([refused.status, String(resourceMetadataUrl), scope]).toEqual([401, metadata, "read"]);
  }

  for (const mode of ["legacy", { pin: "2026-07-28" }]) {
    const authProvider = new ClientCredentialsProvider({
      clientId: client.id,
      clientSecret: client.secret,
      expectedIssuer: provider.issuer,
    });
    const user = new Client(INFO, { versionNegotiation: { mode } });
    await user.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }));
    const { structuredContent } = await user.callTool({ name: "who" });
    expect(structuredContent.rows).toEqual([
      { ...whoRow(client.id, "reader,writer", "oidc"), email: "ada@example.com" },
    ]);
    await user.close();
  }
});
