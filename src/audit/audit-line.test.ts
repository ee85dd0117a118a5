import fc from "fast-check";
import { expect, test } from "vitest";
import { type AuditEntry, auditLines } from "./audit-line.ts";

const entry: AuditEntry = {
  time: new Date("2026-01-02T03:04:05.678Z"),
  requestId: "r-1",
  surface: "rest",
  endpoint: "GET /customers/:id",
  identity: { type: "basic", username: "alice", roles: "admin,reader" },
  address: "10.0.0.1",
  parameters: [
    ["id", "7"],
    ["Token", "hunter2"],
  ],
  rows: 3,
  durationMs: 12.345678,
  status: 200,
};

test("a call is a line, its keys always in the same order", () => {
  expect(auditLines([])(entry)).toBe(
    '{"time":"2026-01-02T03:04:05.678Z","request_id":"r-1","surface":"rest","endpoint":"GET /customers/:id",' +
      '"identity":{"type":"basic","username":"alice","roles":"admin,reader"},"address":"10.0.0.1",' +
      '"parameters":{"id":"7","Token":"hunter2"},"rows":3,"duration_ms":12.346,"status":200}\n',
  );
});

test("what is not known is null", () => {
  const line = auditLines([])({ ...entry, identity: undefined, parameters: [], rows: undefined });
  expect(JSON.parse(line)).toMatchObject({ identity: null, parameters: {}, rows: null });
  const nameless = { type: "bearer", username: undefined, roles: undefined };
  expect(auditLines([])({ ...entry, identity: nameless })).toContain(
    '"identity":{"type":"bearer","username":null,"roles":null}',
  );
});

test.each(["token", "TOKEN", "Token"])("the value of a parameter that is redacted as %s is not written", (name) => {
  const line = auditLines(["other", name])(entry);
  expect(JSON.parse(line).parameters).toEqual({ id: "7", Token: "[redacted]" });
  expect(line).not.toContain("hunter2");
});

test("names that objects take for something else, or put in another order, are plain keys", () => {
  const parameters = [
    ["b", "1"],
    ["__proto__", "2"],
    ["constructor", "3"],
    ["10", "4"],
    ["9", "5"],
  ] as const;
  expect(auditLines(["constructor"])({ ...entry, parameters })).toContain(
    '"parameters":{"b":"1","__proto__":"2","constructor":"[redacted]","10":"4","9":"5"}',
  );
});

test("a name that comes twice is written once", () => {
  const parameters = [
    ["a", "1"],
    ["a", "2"],
  ] as const;
  expect(auditLines([])({ ...entry, parameters })).toContain('"parameters":{"a":"2"}');
});

test.each([
  ["x".repeat(1000), "x".repeat(1000)],
  ["x".repeat(1001), `${"x".repeat(1000)}[cut: 1001 characters]`],
  [`${"x".repeat(999)}🦆`, `${"x".repeat(999)}[cut: 1001 characters]`],
  [`${"x".repeat(998)}🦆`, `${"x".repeat(998)}🦆`],
])("a value is written up to a thousand characters", (text, written) => {
  const identity = { type: "oidc", username: text, roles: text };
  const line = JSON.parse(auditLines([])({ ...entry, identity, parameters: [["q", text]] }));
  expect(line.parameters).toEqual({ q: written });
  expect(line.identity).toEqual({ type: "oidc", username: written, roles: written });
});

test("any text comes back as it was, and makes no second line", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom("\n", "\u2028", "\u009b", '"', "\\") }),
  );
  fc.assert(
    fc.property(text, text, (name, value) => {
      const line = auditLines([])({ ...entry, endpoint: name, address: value, parameters: [[name, value]] });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
      expect(line).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*\n$/);
      expect(JSON.parse(line)).toMatchObject({ endpoint: name, address: value });
      expect(Object.entries(JSON.parse(line).parameters)).toEqual([[name, value]]);
    }),
  );
});
