import { expect, test } from "vitest";
import { accessByName, asUser } from "../../test/mcp-access.ts";
import { mcpServer } from "../../test/mcp-server.ts";
import type { Failure } from "../failure.ts";

const PING = { jsonrpc: "2.0", id: "x", method: "ping" };

test.each<[Failure, number, string | null]>([
  [{ kind: "unauthorized", scheme: "bearer" }, 401, null],
  [{ kind: "too-many-requests", retryAfterSeconds: 7 }, 429, "7"],
  [{ kind: "provider-down" }, 503, "1"],
  [{ kind: "overloaded" }, 503, "1"],
  [{ kind: "connection-down", connection: "c" }, 503, "1"],
  [{ kind: "refused-by-template", status: 403, message: "no" }, 403, null],
  [{ kind: "internal" }, 500, null],
])("the failure %j has status %i", async (failure, status, retryAfter) => {
  const challenges = failure.kind === "unauthorized" ? ['Bearer realm="eider"', 'Basic realm="eider"'] : [];
  await using mcp = await mcpServer({ access: { admit: async () => ({ kind: "refused", failure, challenges }) } });
  const response = await mcp.post(PING);
  expect([response.status, response.headers.get("retry-after")]).toEqual([status, retryAfter]);
  expect(response.headers.get("www-authenticate")).toBe(challenges.length === 0 ? null : challenges.join(", "));
  expect(await response.json()).toMatchObject({ id: "x", error: { code: status } });
});

test("access is checked for every message; a session is not a credential", async () => {
  const access = accessByName();
  await using mcp = await mcpServer({ access });
  const begun = await mcp.post({ ...PING, method: "initialize", params: {} }, asUser("ann"));
  const session = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "" };
  const read = { ...PING, method: "resources/read", params: { uri: "test://static-text" } };
  expect((await mcp.post(read, session)).status).toBe(401);
  expect((await mcp.post({ jsonrpc: "2.0", method: "notifications/initialized" }, session)).status).toBe(401);
  expect((await mcp.post(read, { ...session, ...asUser("ann") })).status).toBe(200);
  expect((await mcp.modern("tools/call", { name: "greet" })).status).toBe(401);
  const twice = new Headers({ "Content-Type": "application/json" });
  twice.append("Authorization", "Bearer ann");
  twice.append("Authorization", "Bearer bob");
  expect((await fetch(mcp.url, { method: "POST", headers: twice, body: JSON.stringify(PING) })).status).toBe(401);
  expect(access.asked.map(({ method, target, address }) => [method, target, address])).toEqual([
    ["initialize", undefined, "127.0.0.1"],
    ["resources/read", "test://static-text", "127.0.0.1"],
    ["notifications/initialized", undefined, "127.0.0.1"],
    ["resources/read", "test://static-text", "127.0.0.1"],
    ["tools/call", "greet", "127.0.0.1"],
    ["ping", undefined, "127.0.0.1"],
  ]);
});

test("initialize may carry the ID of a closed session", async () => {
  await using mcp = await mcpServer();
  const response = await mcp.post({ ...PING, method: "initialize", params: {} }, { "Mcp-Session-Id": "gone" });
  expect(response.headers.get("mcp-session-id")).toMatch(/.{36}/);
  expect(await response.json()).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
});
