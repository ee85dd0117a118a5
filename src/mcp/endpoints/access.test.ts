import { describe, expect, test } from "vitest";
import { openTestEndpoints, resource, tool } from "../../../test/mcp-product.ts";

const basic = (user: string) => `Basic ${Buffer.from(`${user}:pw`).toString("base64")}`;
const users = (name: string) => `{type: basic, users: [{username: ${name}, password: pw}]}`;
const main = (mcp: string, more = "") => ({ "eider.yaml": `connections: {memory: {}}\nmcp: ${mcp}\n${more}` });
const TOOL = tool("find", "SELECT 1 AS x");
const BASIC = 'Basic realm="eider"';

/** The identity, or the challenges. */
async function outcome(mcp: Awaited<ReturnType<typeof openTestEndpoints>>, ...request: Parameters<typeof mcp.admit>) {
  const admitted = await mcp.admit(...request);
  return admitted.kind === "identity" ? (admitted.identity.get("username")?.text ?? "anonymous") : admitted.challenges;
}

describe("mcp.auth by method", () => {
  const METHODS = [
    "initialize",
    "server/discover",
    "ping",
    "notifications/initialized",
    "tools/list",
    "tools/call",
    "tasks/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "subscriptions/listen",
    "completion/complete",
  ];

  test.each([
    ["enabled: true", "", METHODS],
    ["enabled: true", "initialize: {required: false}", METHODS.slice(4)],
    ["enabled: true", "initialize: {required: false}, ping: {required: true}", ["ping", ...METHODS.slice(4)]],
    ["enabled: true", "resources/list: {required: false}", METHODS.filter((name) => !/resources.*list/.test(name))],
    ["enabled: false", "tools/call: {required: true}", ["tools/call", "tasks/get"]],
    ["enabled: false", "resources/read: {required: true}", ["resources/read", "resources/subscribe"]],
  ])("%s, %s: protected are %j", async (enabled, methods, expected) => {
    const auth = `{${enabled}, type: basic, users: [{username: ada, password: pw}], methods: {${methods}}}`;
    await using mcp = await openTestEndpoints({ ...main(`{auth: ${auth}}`), ...TOOL });
    const needing: string[] = [];
    for (const method of METHODS) if ((await outcome(mcp, method)) !== "anonymous") needing.push(method);
    expect(needing).toEqual(expected);
    // Credentials are always verified.
    for (const method of METHODS) {
      expect([method, await outcome(mcp, method, { authorization: basic("ada") })]).toEqual([method, "ada"]);
      expect(await outcome(mcp, method, { authorization: basic("eve") })).toEqual([BASIC]);
    }
  });

  test("without a block no credentials are required, and those that are sent are ignored", async () => {
    await using mcp = await openTestEndpoints({ ...main("{}"), ...TOOL });
    expect(await outcome(mcp, "tools/call", { target: "find" })).toBe("anonymous");
    expect(await outcome(mcp, "tools/call", { target: "find", authorization: basic("eve") })).toBe("anonymous");
  });
});

describe("an endpoint with its own auth block", () => {
  const OWN = {
    ...tool("mine", "SELECT 1 AS x", `auth: ${users("owner")}\n`),
    ...tool("open", "SELECT 1 AS x", "auth: {enabled: false}\n"),
    ...tool("inherited", "SELECT 1 AS x"),
    ...resource("r", {
      name: "rows/{id}",
      sql: "SELECT '{{params.id}}' AS x",
      yaml: "request: [{field-name: id, field-in: path}]\n",
    }),
    "p.yaml": "mcp-prompt: {name: ask, description: P, template: Hello}\n",
  };
  const GLOBAL = `auth: ${users("everybody")}\n`;

  test("requires an identity of its block, without mcp.auth", async () => {
    await using mcp = await openTestEndpoints({ ...main("{}", GLOBAL), ...OWN });
    expect(await outcome(mcp, "tools/list")).toBe("anonymous");
    expect(await outcome(mcp, "tools/call", { target: "open" })).toBe("anonymous");
    expect(await outcome(mcp, "tools/call", { target: "mine" })).toEqual([BASIC]);
    expect(await outcome(mcp, "tools/call", { target: "mine", authorization: basic("owner") })).toBe("owner");
    expect(await outcome(mcp, "tools/call", { target: "mine", authorization: basic("everybody") })).toEqual([BASIC]);
    expect(await outcome(mcp, "tools/call", { target: "inherited" })).toEqual([BASIC]);
    expect(await outcome(mcp, "tools/call", { target: "inherited", authorization: basic("everybody") })).toBe(
      "everybody",
    );
    expect(await outcome(mcp, "resources/read", { target: "eider://rows/1" })).toEqual([BASIC]);
    expect(await outcome(mcp, "prompts/get", { target: "ask" })).toEqual([BASIC]);
    expect(await outcome(mcp, "tools/call", { target: "unknown" })).toBe("anonymous");
  });

  test("requires an identity of either block, if mcp.auth does not require one", async () => {
    const auth = `{enabled: false, ${users("agent").slice(1, -1)}, methods: {tools/list: {required: true}}}`;
    await using mcp = await openTestEndpoints({ ...main(`{auth: ${auth}}`, GLOBAL), ...OWN });
    expect(await outcome(mcp, "tools/call", { target: "mine" })).toEqual([BASIC]);
    expect(await outcome(mcp, "tools/call", { target: "mine", authorization: basic("agent") })).toBe("agent");
    expect(await outcome(mcp, "tools/call", { target: "mine", authorization: basic("owner") })).toBe("owner");
    expect(await outcome(mcp, "tools/call", { target: "mine", authorization: basic("eve") })).toEqual([BASIC]);
    expect(await outcome(mcp, "tools/call", { target: "open" })).toBe("anonymous");
  });

  test("requires an identity of mcp.auth, if mcp.auth requires one", async () => {
    await using mcp = await openTestEndpoints({ ...main(`{auth: ${users("agent")}}`, GLOBAL), ...OWN });
    expect(await outcome(mcp, "tools/call", { target: "mine", authorization: basic("agent") })).toBe("agent");
    expect(await outcome(mcp, "tools/call", { target: "mine", authorization: basic("owner") })).toEqual([BASIC]);
    expect(await outcome(mcp, "tools/call", { target: "open" })).toEqual([BASIC]);
  });

  test("failed attempts count against the rate limit", async () => {
    await using mcp = await openTestEndpoints({
      ...main("{}"),
      ...tool("mine", "SELECT 1 AS x", `auth: ${users("owner")}\nrate-limit: {max: 2, interval: 60}\n`),
    });
    const guess = () => mcp.admit("tools/call", { target: "mine", authorization: basic("eve") });
    expect(await guess()).toMatchObject({ kind: "refused", failure: { kind: "unauthorized" } });
    expect(await guess()).toMatchObject({ kind: "refused", failure: { kind: "unauthorized" } });
    expect(await guess()).toMatchObject({ kind: "refused", failure: { kind: "too-many-requests" }, challenges: [] });
  });
});

describe("challenges", () => {
  const TOKEN = "a-token-that-is-long-enough-to-be-one";
  const bearer = `{auth: {type: bearer, tokens: [{token: ${TOKEN}, username: bot}]}}`;
  const oidc = (more = "") =>
    `{${more}auth: {type: oidc, oidc: {client-id: x, issuer-url: "http://127.0.0.1:1", allowed-audiences: [x], scopes: [openid, offline_access, sales]}}}`;
  const METADATA = ".well-known/oauth-protected-resource/mcp";

  test.each([
    [bearer, undefined, ['Bearer realm="eider"', BASIC]],
    [bearer, "Bearer wrong", ['Bearer realm="eider", error="invalid_token"', BASIC]],
    [bearer, basic("ada"), ['Bearer realm="eider"', BASIC]],
    [oidc(), undefined, [`Bearer resource_metadata="http://here:1/${METADATA}", scope="openid sales"`, BASIC]],
    [
      oidc("public-url: https://api.example.com/mcp/, "),
      undefined,
      [`Bearer resource_metadata="https://api.example.com/${METADATA}", scope="openid sales"`, BASIC],
    ],
    [
      oidc("public-url: https://api.example.com, "),
      undefined,
      [expect.stringContaining(`https://api.example.com/${METADATA}`), BASIC],
    ],
  ])("%s and %j: %j", async (mcp, authorization, challenges) => {
    await using product = await openTestEndpoints({ ...main(mcp), ...TOOL });
    const admitted = await product.admit("tools/list", { authorization, origin: "http://here:1" });
    expect(admitted).toMatchObject({ kind: "refused", failure: { kind: "unauthorized" }, challenges });
  });

  test("a valid token is accepted", async () => {
    await using product = await openTestEndpoints({ ...main(bearer), ...TOOL });
    expect(await outcome(product, "tools/list", { authorization: `Bearer ${TOKEN}` })).toBe("bot");
  });
});
