import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AuthKind, authKinds, whoEndpoint, whoRow } from "../mcp-auth.ts";
import { type McpProgram, type McpResponse, type SentHeaders, startMcpHere } from "../mcp-program.ts";
import { startProvider, type TestProvider } from "../oidc-provider.ts";

/** Who may use which method. The numbers are those of the acceptance list. */
let provider: TestProvider;
let kinds: ReadonlyMap<string, AuthKind>;
beforeAll(async () => {
  provider = await startProvider();
  kinds = new Map((await authKinds(provider)).map((kind) => [kind.name, kind]));
});
afterAll(() => provider[Symbol.asyncDispose]());

const main = (mcp: string, more = ""): string =>
  `http-port: 0\nconnections: { db: {} }\n${more}mcp: { port: 0${mcp} }\n`;
const PUBLIC = "methods: { tools/list: { required: false }, initialize: { required: false } }";

/** The challenges, in their order. */
function challenge(kind: string, mcp: string, hasToken: boolean): string {
  const error = hasToken ? ', error="invalid_token"' : "";
  const metadata = `${new URL(mcp).origin}/.well-known/oauth-protected-resource/mcp`;
  const basic = 'Basic realm="eider"';
  if (kind === "basic") return basic;
  if (kind === "oidc") return `Bearer resource_metadata="${metadata}", scope="read"${error}, ${basic}`;
  return `Bearer realm="eider"${error}, ${basic}`;
}

function expectUnauthorized(answer: McpResponse, expected: string): void {
  const { status, headers, message } = answer;
  expect([status, headers.get("www-authenticate"), message]).toEqual([
    401,
    expected,
    { jsonrpc: "2.0", id: 1, error: { code: 401, message: "Unauthorized" } },
  ]);
}

const rowsOf = ({ message }: McpResponse): unknown => message?.result?.["structuredContent"].rows;

for (const name of ["basic", "bearer", "bearer with JWT", "oidc"]) {
  describe(name, () => {
    let program: McpProgram;
    let kind: AuthKind;
    beforeAll(async () => {
      kind = kinds.get(name) ?? ({} as AuthKind);
      program = await startMcpHere({
        "eider.yaml": main(`, auth: { ${kind.block}, ${PUBLIC} }`),
        ...whoEndpoint("who"),
      });
    });
    afterAll(() => program[Symbol.asyncDispose]());

    const sessionOf = async (headers: SentHeaders): Promise<SentHeaders> => {
      const answer = await program.legacy("initialize", { protocolVersion: "2025-11-25" }, headers);
      return { "Mcp-Session-Id": answer.headers.get("mcp-session-id") ?? "" };
    };

    test("A30 without credentials: what is public, and nothing else, whatever session is named", async () => {
      const anns = await sessionOf(kind.ann);
      const expected = challenge(name, program.mcp, false);
      for (const session of [{}, anns, await sessionOf({}), { "Mcp-Session-Id": "forged" }]) {
        const params = { name: "who" };
        expectUnauthorized(await program.legacy("tools/call", params, session), expected);
        expectUnauthorized(await program.modern("tools/call", params, session), expected);
        expectUnauthorized(await program.legacy("resources/read", { uri: "eider://x" }, session), expected);
        expect((await program.modern("tools/list", {}, session)).status).toBe(200);
      }
      expect((await program.legacy("tools/list")).status).toBe(200);
      expect((await program.legacy("tools/list", {}, { "Mcp-Session-Id": "forged" })).status).toBe(404);
      // Ann's session is hers: to others it does not exist.
      expect((await program.legacy("tools/list", {}, anns)).status).toBe(404);
      for (const method of ["GET", "DELETE"]) {
        const answer = await fetch(program.mcp, { method, headers: { ...anns, Accept: "text/event-stream" } });
        expect([method, answer.status]).toEqual([method, 401]);
      }
    });

    test("A30 with wrong ones: nothing, not even what is public", async () => {
      const anns = await sessionOf(kind.ann);
      for (const wrong of kind.wrong) {
        const expected = challenge(name, program.mcp, name !== "basic");
        for (const session of [{}, anns]) {
          const headers = { ...wrong, ...session };
          expectUnauthorized(await program.legacy("tools/call", { name: "who" }, headers), expected);
          expectUnauthorized(await program.modern("tools/call", { name: "who" }, headers), expected);
          expectUnauthorized(await program.modern("tools/list", {}, headers), expected);
          expectUnauthorized(await program.legacy("initialize", {}, headers), expected);
        }
      }
    });

    test("A30 with the right ones: everything, as who one is", async () => {
      const anns = await sessionOf(kind.ann);
      const ann = [whoRow("ann", "reader", name.split(" ")[0] ?? "")];
      const ben = [whoRow("ben", "", name.split(" ")[0] ?? "")];
      expect(rowsOf(await program.modern("tools/call", { name: "who" }, kind.ann))).toEqual(ann);
      expect(rowsOf(await program.modern("tools/call", { name: "who" }, kind.ben))).toEqual(ben);
      expect(rowsOf(await program.legacy("tools/call", { name: "who" }, kind.ann))).toEqual(ann);
      expect(rowsOf(await program.legacy("tools/call", { name: "who" }, { ...kind.ann, ...anns }))).toEqual(ann);
      // A session makes nobody somebody else.
      expect((await program.legacy("tools/call", { name: "who" }, { ...kind.ben, ...anns })).status).toBe(404);
      expect((await program.modern("tools/list", {}, kind.ann)).status).toBe(200);
      const forged = { ...kind.ann, "Mcp-Session-Id": "forged" };
      expect((await program.legacy("tools/call", { name: "who" }, forged)).status).toBe(404);
      expect(rowsOf(await program.modern("tools/call", { name: "who" }, forged))).toEqual(ann);
    });

    test("A32 metadata of the protected resource: where tokens are had, or 404", async () => {
      for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]) {
        const answer = await fetch(new URL(path, program.mcp));
        if (name !== "oidc") expect([path, answer.status]).toEqual([path, 404]);
        else {
          expect([path, answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([path, 200, "*"]);
          expect(await answer.json()).toEqual({
            resource: program.mcp,
            authorization_servers: [provider.issuer],
            scopes_supported: ["read"],
            bearer_methods_supported: ["header"],
            resource_name: expect.any(String),
          });
        }
      }
    });
  });
}

test("A31 a method may be open while others are not, and the other way round; of a batch all may, or nothing runs", async () => {
  const { block, ann } = kinds.get("bearer") ?? ({} as AuthKind);
  const open = `, auth: { ${block}, methods: { tools/list: { required: false } } }`;
  await using program = await startMcpHere({ "eider.yaml": main(open), ...whoEndpoint("who") });
  for (const ask of [program.modern, program.legacy]) {
    expect((await ask("tools/list")).status).toBe(200);
    expect((await ask("tools/call", { name: "who" })).status).toBe(401);
    expect((await ask("tools/call", { name: "who" }, ann)).status).toBe(200);
    expect((await ask("prompts/list")).status).toBe(401);
  }
  // These follow others where nothing is said of them.
  expect((await program.legacy("initialize")).status).toBe(401);
  expect((await program.modern("server/discover")).status).toBe(401);
  expect((await program.post({ jsonrpc: "2.0", method: "notifications/initialized" })).status).toBe(401);
  expect((await program.modern("subscriptions/listen", { notifications: {} })).status).toBe(401);
  const { status, text } = await program.post([
    { jsonrpc: "2.0", id: 1, method: "tools/list" },
    { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "who" } },
  ]);
  expect([status, text.includes('"rows"')]).toEqual([401, false]);

  const shut = `, auth: { enabled: false, ${block}, methods: { tools/call: { required: true } } }`;
  await using other = await startMcpHere({ "eider.yaml": main(shut), ...whoEndpoint("who") });
  expect((await other.modern("tools/list")).status).toBe(200);
  expect((await other.modern("tools/call", { name: "who" })).status).toBe(401);
  expect((await other.modern("tasks/get", { taskId: "x" })).status).toBe(401);
  expect((await other.modern("tools/call", { name: "who" }, ann)).status).toBe(200);
});
