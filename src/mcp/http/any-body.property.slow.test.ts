import fc from "fast-check";
import { expect, test } from "vitest";
import { MODERN_META, mcpServer, mcpSettings, taskSettings } from "../../../test/mcp-server.ts";
import { methodsOf } from "../methods/index.ts";

const method = fc.oneof(
  // Not `subscriptions/listen`, because its response stays open.
  fc.constantFrom(
    ...[...methodsOf.legacy.keys(), ...methodsOf.modern.keys()].filter((name) => !name.endsWith("listen")),
  ),
  fc.constantFrom("notifications/cancelled", "notifications/initialized", "constructor", "__proto__"),
  fc.string(),
);
const name = fc.oneof(
  fc.constantFrom("greet", "echo", "test://static-text", "test_simple_prompt", "toString"),
  fc.jsonValue(),
);
const meta = fc.oneof(
  fc.constant(MODERN_META),
  fc.record({ progressToken: fc.jsonValue(), traceparent: fc.jsonValue() }, { requiredKeys: [] }),
  fc.dictionary(fc.constantFrom(...Object.keys(MODERN_META)), fc.jsonValue()),
  fc.jsonValue(),
);
const params = fc.oneof(
  fc.record(
    {
      name,
      uri: name,
      taskId: name,
      cursor: fc.jsonValue(),
      arguments: fc.jsonValue(),
      ref: fc.jsonValue(),
      argument: fc.jsonValue(),
      requestId: fc.jsonValue(),
      level: fc.jsonValue(),
      _meta: meta,
    },
    { requiredKeys: [] },
  ),
  fc.jsonValue(),
);
const id = fc.oneof(fc.integer(), fc.string(), fc.jsonValue());
const message = fc.oneof(
  fc.record({ jsonrpc: fc.constant("2.0"), id, method, params }, { requiredKeys: ["jsonrpc"] }),
  fc.jsonValue(),
);
const header = fc.oneof(
  fc.constantFrom("2026-07-28", "2025-11-25", "2099-01-01", "tools/call", "greet"),
  fc.base64String(),
);
const headers = fc.dictionary(
  fc.constantFrom("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id"),
  header,
);

const hasId = (value: unknown): boolean => typeof value === "object" && value !== null && "id" in value;

test("any body gets a valid response, and notifications get none", async () => {
  await using mcp = await mcpServer({ settings: mcpSettings({ tasks: taskSettings }) });
  await fc.assert(
    fc.asyncProperty(fc.oneof(message, fc.array(message, { maxLength: 4 })), headers, async (body, head) => {
      const response = await mcp.post(JSON.stringify(body), head);
      const text = await response.text();
      expect(response.status).toBeLessThan(500);
      if (response.status === 202) expect(text).toBe("");
      else if (response.status === 200) {
        for (const one of [JSON.parse(text)].flat()) expect(one).toMatchObject({ jsonrpc: "2.0" });
        expect(
          Array.isArray(body)
            ? body.some((one) => hasId(one) || typeof one !== "object" || one === null || !("method" in one))
            : hasId(body),
        ).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
  expect(mcp.events).toEqual([]);
});
