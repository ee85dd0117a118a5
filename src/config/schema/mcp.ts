import { mcpAuth } from "./auth.ts";
import { block, bytes, choice, enabled, filledText, openBlock, port, text, texts, whole } from "./blocks.ts";

/** The MCP server. */
export const mcp = block({
  enabled,
  port: port.prefault(8081).describe("The same as http-port puts MCP on the REST listener."),
  host: filledText.prefault("127.0.0.1"),
  auth: mcpAuth.optional(),
  instructions: text.optional().describe("What the server tells a language model about itself."),
  "instructions-file": filledText.optional().describe("The same, from a file."),
  "page-size": whole({ min: 1 }).prefault(100).describe("Entries of one page of a list."),
  "max-rows": whole({ min: 1 }).prefault(1000).describe("Rows of one result."),
  "max-text-bytes": bytes.prefault(100_000).describe("Size of one result."),
  "public-url": filledText.optional().describe("The address by which clients know the server."),
  "allowed-hosts": texts.prefault([]).describe("Further values of Host that are answered."),
  "allowed-origins": texts.prefault([]).describe("Origins of web pages that may call."),
  "uri-scheme": filledText.prefault("eider").describe("Of the addresses of resources."),
  "result-text": choice(["json", "markdown", "csv"]).prefault("json").describe("How rows look as text."),
  tasks: block({
    enabled,
    "after-ms": whole().prefault(5000),
    workers: whole({ min: 1 }).prefault(4),
    "queue-depth": whole().prefault(100),
    "ttl-ms": whole({ min: 1 }).prefault(900_000),
    "poll-interval-ms": whole({ min: 1 }).prefault(1000),
  }).prefault({}),
});

const name = filledText.describe("Unique name.");
const mediaType = filledText
  .refine((value) => /^[\w.+-]+\/[\w.+-]+(?:\s*;.*)?$/.test(value), "expected a media type, text/csv")
  .prefault("application/json");
const description = filledText.describe("For the language model.");

/** Other keys are ignored. */
export const mcpTool = openBlock({
  name: name
    .refine((value) => /^[A-Za-z0-9_]+$/.test(value), "expected letters, digits and underscores only")
    .refine((value) => value.length <= 128, "expected 128 characters at most"),
  description,
  "result-mime-type": mediaType,
});

export const mcpResource = openBlock({
  name,
  description,
  "mime-type": mediaType,
});

export const mcpPrompt = openBlock({
  name,
  description,
  template: filledText.describe("Mustache text."),
  arguments: texts.prefault([]).describe("Names that the template uses."),
});

/** The keys that each takes. */
export const mcpKeys: Readonly<Record<string, readonly string[]>> = {
  "mcp-tool": Object.keys(mcpTool.out.shape),
  "mcp-resource": Object.keys(mcpResource.out.shape),
  "mcp-prompt": Object.keys(mcpPrompt.out.shape),
};
