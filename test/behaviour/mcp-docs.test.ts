import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mcpClients } from "../../src/cli/mcp-clients.ts";
import { blocksOf, codesOf, tablesOf } from "../markdown.ts";
import { filesIn, startMcp } from "../mcp-program.ts";
import { runHere } from "../process/program.ts";

/** docs/agents.md is what users copy from: it must be what the program prints and does. */
const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/agents.md"), "utf8");
const example = filesIn(join(root, "examples/agents"));
const blocks = blocksOf(page).map(({ text }) => text);

const MAIN = "project-name: shop\nmcp: { enabled: true }\n";

/** What `--print-config` says, with the folder of the project that the page speaks of. */
async function printed(
  args: readonly string[],
  main = MAIN,
): Promise<{ readonly text: string; readonly told: string }> {
  const { code, stdout, stderr } = await runHere({ "eider.yaml": main }, { args: ["mcp", "--print-config", ...args] });
  expect([code, code === 0 ? "" : stderr]).toEqual([0, ""]);
  return { text: stdout.replace(/[^\s"]*\/eider-process-\w+/, "/srv/shop"), told: stderr };
}

describe.each(mcpClients.map(({ name, title, configLocation: place }) => ({ name, title, place })))(
  "$name",
  ({ name, title, place }) => {
    test.each([[[]], [["--http"]]])("the page has what is printed with %j", async (more: readonly string[]) => {
      const { text, told } = await printed([name, ...more]);
      expect(blocks).toContain(text);
      expect(told).toBe(`For ${title}: ${place}\n`);
      // Where it belongs stands there as well.
      const [file = ""] = place.split(/ (?:\(|in )/);
      if (name !== "script") expect(page).toContain(`\`${file}\``);
    });

    test("a token has its place, and the page says which", async () => {
      const auth =
        "project-name: shop\nmcp: { auth: { type: bearer, token: the-token-of-the-server-which-is-long } }\n";
      const { text, told } = await printed([name, "--http"], auth);
      const table = tablesOf(page).find(({ header }) => header[0] === "Client");
      const [, header = ""] = table?.rows.find(([client]) => client === title) ?? [];
      expect(
        text
          .replace(/\s+/g, " ")
          .replace(/([{[]) /g, "$1")
          .replace(/ ([}\]])/g, "$1"),
      ).toContain(codesOf(header)[0]);
      expect(told).toContain("mcp.auth requires credentials: set EIDER_TOKEN");
      expect(text + told).not.toContain("the-token-of-the-server");
    });
  },
);

test("the address is one that can be called", async () => {
  const url = async (main: string): Promise<string> =>
    (await printed(["script", "--http"], main)).text.split(" ")[2] ?? "";
  expect(await url("mcp: { host: 0.0.0.0, auth: { type: bearer, token: the-token-of-the-server-is-long } }\n")).toBe(
    "http://127.0.0.1:8081/mcp",
  );
  expect(await url("mcp: { public-url: https://api.example.com/ }\n")).toBe("https://api.example.com/mcp");
  expect(await url("mcp: { public-url: https://api.example.com/mcp }\n")).toBe("https://api.example.com/mcp");
  expect(await url("http-port: 9000\nhttp-host: localhost\nmcp: { port: 9000 }\n")).toBe("http://localhost:9000/mcp");
  const none = await runHere(
    { "eider.yaml": "project-name: x\n" },
    { args: ["mcp", "--print-config", "cursor", "--http"] },
  );
  expect([none.code, none.stdout]).toEqual([1, ""]);
  expect(none.stderr).toContain("mcp: {enabled: true}");
});

test("a client that nobody knows is told which there are", async () => {
  for (const args of [["emacs"], [], ["cursor", "vscode"]]) {
    const { code, stderr } = await runHere({ "eider.yaml": MAIN }, { args: ["mcp", "--print-config", ...args] });
    expect([code, mcpClients.every(({ name }) => stderr.includes(name))]).toEqual([2, true]);
  }
});

test("the files of the page are those of the example", () => {
  for (const name of ["orders", "sales", "monthly-report"]) expect(blocks).toContain(example[`endpoints/${name}.yaml`]);
});

test("the example does what its pages say", async () => {
  const main = example["eider.yaml"]
    ?.replace("port: 8081", "port: 0")
    .replace("project-name", "http-port: 0\nproject-name");
  await using program = await startMcp({ ...example, "eider.yaml": main });
  const [, , command = "", answer = ""] = blocksOf(example["README.md"] ?? "").map(({ text }) => text);
  const [, body = ""] = /-d '([^']+)'/.exec(command) ?? [];
  expect((await program.post(body)).text).toBe(answer.trim());
  const shipped = await program.call("ship_order", { id: 2 });
  expect(shipped["structuredContent"]).toEqual({ rows_affected: 1 });
  expect((await program.call("ship_order", { id: 2 }))["structuredContent"]).toEqual({ rows_affected: 0 });
  const { message } = await program.modern("resources/read", { uri: "eider://sales/2026-02?status=open" });
  expect(message?.result?.["contents"][0].text).toContain("| open | 2 | 2049.50 |");
  const prompt = await program.modern("prompts/get", { name: "monthly_report", arguments: { month: "2026-02" } });
  expect(prompt.message?.result?.["messages"][0].content.text).toContain("eider://sales/2026-02");
  const templates = await program.modern("resources/templates/list");
  expect(templates.message?.result?.["resourceTemplates"]).toMatchObject([
    { uriTemplate: "eider://sales/{month}{?status}" },
  ]);
});
