import { expect, test } from "vitest";
import { projectFolder } from "../../test/project-folder.ts";
import { loadProject } from "./load-project.ts";
import { defaultMcpSettings } from "./mcp-config.ts";

async function settingsOf(mcp: string, files: Readonly<Record<string, string>> = {}) {
  using folder = projectFolder({ "eider.yaml": `connections: {}\n${mcp}`, ...files });
  const { project, problems } = await loadProject({ cwd: folder.path, env: {}, overrides: {} });
  if (project === undefined) throw new Error(JSON.stringify(problems));
  return project.main.mcp;
}

test.each([
  ["", undefined],
  ["mcp: {enabled: false, port: 1}\n", undefined],
  ["mcp: {}\n", defaultMcpSettings()],
  ["mcp: {enabled: true}\n", defaultMcpSettings()],
])("%j", async (yaml, expected) => {
  expect(await settingsOf(yaml)).toEqual(expected);
});

test("every key is read", async () => {
  const yaml = `mcp:
  port: 9000
  host: localhost
  instructions-file: texts/about.md
  page-size: 5
  max-rows: 6
  max-text-bytes: 7KiB
  public-url: https://API.example.com/mcp/
  allowed-hosts: api.example.com
  allowed-origins: [https://App.example.com:443]
  uri-scheme: shop
  result-text: markdown
  tasks: {after-ms: 1, workers: 2, queue-depth: 3, default-ttl-ms: 4, poll-interval-ms: 5}
`;
  expect(await settingsOf(yaml, { "texts/about.md": "About.\n" })).toEqual({
    isMounted: false,
    port: 9000,
    host: "localhost",
    auth: undefined,
    instructions: "About.",
    pageSize: 5,
    maxRows: 6,
    maxTextBytes: 7168,
    publicUrl: "https://api.example.com/mcp",
    allowedHosts: ["api.example.com"],
    allowedOrigins: ["https://app.example.com"],
    uriScheme: "shop",
    resultText: "markdown",
    tasks: { afterMs: 1, workers: 2, queueDepth: 3, ttlMs: 4, pollIntervalMs: 5 },
  });
});

const TOKEN = "type: bearer, token: a-token-that-is-long-enough-to-be-one";

test.each([
  [`{${TOKEN}}`, { isRequired: true, methods: new Map() }],
  [`{enabled: false, ${TOKEN}}`, undefined],
  [`{enabled: false, ${TOKEN}, methods: {tools/list: {required: false}}}`, undefined],
  [
    `{enabled: false, ${TOKEN}, methods: {tools/call: {required: true}}}`,
    { isRequired: false, methods: new Map([["tools/call", true]]) },
  ],
  [
    `{${TOKEN}, methods: {tools/list: {required: false}}}`,
    { isRequired: true, methods: new Map([["tools/list", false]]) },
  ],
])("auth %s", async (auth, expected) => {
  const settings = await settingsOf(`mcp: {auth: ${auth}}\n`);
  if (expected === undefined) expect(settings?.auth).toBeUndefined();
  else expect(settings?.auth).toMatchObject({ ...expected, policy: { kind: "bearer" } });
});
