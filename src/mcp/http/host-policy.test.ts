import { expect, test } from "vitest";
import { mcpSettings } from "../../../test/mcp-server.ts";
import { hostPolicyOf } from "./host-policy.ts";

test.each([
  [{}, "localhost:8081", "localhost"],
  [{}, "127.0.0.1", "127.0.0.1"],
  [{}, "[::1]:1", "[::1]"],
  [{}, "LOCALHOST", "localhost"],
  [{}, "evil.example", undefined],
  [{}, "10.0.0.7", undefined],
  [{}, "localhost.evil.example", undefined],
  [{}, "localhost@evil", undefined],
  [{}, "", undefined],
  [{}, undefined, undefined],
  [{ host: "10.0.0.7" }, "10.0.0.7:8081", "10.0.0.7"],
  [{ host: "fd00::1" }, "[fd00::1]", "[fd00::1]"],
  [{ host: "0.0.0.0" }, "10.0.0.7:8081", "10.0.0.7"],
  [{ host: "::" }, "[fd00::1]", "[fd00::1]"],
  [{ host: "0.0.0.0" }, "evil.example", undefined],
  [{ allowedHosts: ["Mcp.Example:8443"] }, "mcp.example", "mcp.example"],
  [{ allowedHosts: ["*"] }, "any.example", "any.example"],
  [{ publicUrl: "https://mcp.example/x" }, "mcp.example", "mcp.example"],
])("with %j the host %s is %s", (settings, header, name) => {
  expect(hostPolicyOf(mcpSettings(settings)).hostOf(header)).toBe(name);
});

test.each([
  [{}, "http://localhost:6274", true],
  [{}, "http://127.0.0.1", true],
  [{}, "null", false],
  [{}, "http://evil.example", false],
  [{}, "garbage", false],
  [{ host: "0.0.0.0" }, "http://10.0.0.9", false],
  [{ allowedOrigins: ["https://app.example"] }, "https://app.example", true],
  [{ allowedOrigins: ["https://app.example"] }, "http://app.example", false],
  [{ allowedOrigins: ["null"] }, "null", true],
  [{ allowedOrigins: ["*"] }, "http://evil.example", true],
  [{ publicUrl: "https://mcp.example" }, "https://mcp.example", true],
])("with %j a page of %s may call: %s", (settings, origin, may) => {
  expect(hostPolicyOf(mcpSettings(settings)).allowsOrigin(origin, "127.0.0.1")).toBe(may);
});
