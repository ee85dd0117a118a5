import { expect, test } from "vitest";
import { eventsOf, type McpProgram, startMcp } from "../mcp-program.ts";
import type { Files } from "../process/program.ts";
import { until } from "../until.ts";

/** Clients that watch a resource hear of new rows, in both eras. */

const read = (name: string, more: string) =>
  `mcp-resource: { name: "${name}", description: x }\ntemplate-source: read.sql\nconnection: db\nwith-pagination: false\ncache: { table: ${more}, template-file: fill.sql }\n`;
const FILES: Files = {
  "eider.yaml": "http-port: 0\nmcp: { port: 0 }\nconnections: { db: { init: CREATE TABLE t AS SELECT 1 AS a } }\n",
  "fill.sql": "SELECT a FROM t",
  "read.sql": "SELECT a FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}}",
  "all.yaml": `${read("all", "mine")}request: [{ field-name: kind, field-in: query }]\n`,
  "one.yaml": `${read("one/{id}", "mine")}request: [{ field-name: id, field-in: path, required: true }]\n`.replace(
    ", template-file: fill.sql",
    "",
  ),
  "other.yaml": read("other", "theirs"),
  "add.yaml":
    "mcp-tool: { name: add, description: x }\nmethod: POST\ntemplate-source: add.sql\nconnection: db\ncache: { table: mine, refresh-on-write: true }\n",
  "add.sql": "INSERT INTO t VALUES (2)",
};
const URIS = ["eider://all", "eider://one/7", "eider://other"];

async function rowsOf(program: McpProgram, uri: string): Promise<unknown> {
  const { message } = await program.modern("resources/read", { uri });
  return JSON.parse(message?.result?.["contents"][0].text);
}

/** A stream, as far as it has come. */
async function follow(answer: Response): Promise<{ text(): string }> {
  let text = "";
  void (async () => {
    for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString();
  })().catch(() => {});
  return { text: () => text };
}

const updated = (text: string): readonly unknown[] =>
  eventsOf(text)
    .filter(({ method }) => method === "notifications/resources/updated")
    .map(({ params }) => params?.["uri"]);

test("a write that refreshes a cache is told once for each resource that reads it, and for no other", async () => {
  await using program = await startMcp(FILES);
  for (const uri of URIS) expect(await rowsOf(program, uri)).toEqual([{ a: 1 }]);

  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const begun = await program.legacy("initialize", { protocolVersion: "2025-11-25" });
  const session = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "" };
  for (const uri of URIS) await program.legacy("resources/subscribe", { uri }, session);
  const legacy = await follow(await fetch(program.mcp, { headers: { ...headers, ...session } }));
  const notifications = { resourceSubscriptions: URIS };
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "subscriptions/listen",
    params: {
      notifications,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  });
  const routing = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen" };
  const modern = await follow(await fetch(program.mcp, { method: "POST", headers: { ...headers, ...routing }, body }));
  await program.untilStreams(2);
  await until("the acknowledgement", () => modern.text().includes("acknowledged"));

  await program.call("add");
  for (const stream of [legacy, modern]) {
    await until("two updates", () => updated(stream.text()).length >= 2);
  }
  expect(await rowsOf(program, "eider://all")).toEqual([{ a: 1 }, { a: 2 }]);
  program.signal("SIGTERM");
  await program.exited;
  for (const stream of [legacy, modern]) {
    expect(updated(stream.text()).toSorted()).toEqual(["eider://all", "eider://one/7"]);
  }
});
