import { mcpAuth } from "./auth.ts";
import { block, bytes, choice, filledText, flag, openBlock, port, text, texts, whole } from "./blocks.ts";

/** The MCP server. Spec 4.6. */
export const mcp = block({
  enabled: flag.optional(),
  port: port.optional().describe("8081 when absent; the same as http-port puts MCP on the REST listener."),
  host: filledText.optional(),
  auth: mcpAuth.optional(),
  instructions: text.optional().describe("What the server tells a language model about itself."),
  "instructions-file": filledText.optional().describe("The same, from a file."),
  "page-size": whole({ min: 1 }).optional().describe("Entries of one page of a list; 100 when absent."),
  "max-rows": whole({ min: 1 }).optional().describe("Rows of one result; 1000 when absent."),
  "max-text-bytes": bytes.optional().describe("Size of one result; 100000 when absent."),
  "public-url": filledText.optional().describe("The address by which clients know the server."),
  "allowed-hosts": texts.optional().describe("Further values of Host that are answered."),
  "allowed-origins": texts.optional().describe("Origins of web pages that may call."),
  "uri-scheme": filledText.optional().describe("Of the addresses of resources; eider when absent."),
  "result-text": choice(["json", "markdown", "csv"]).optional().describe("How rows look as text; json when absent."),
  tasks: block({
    enabled: flag.optional(),
    "after-ms": whole().optional(),
    workers: whole({ min: 1 }).optional(),
    "queue-depth": whole().optional(),
    "ttl-ms": whole({ min: 1 }).optional(),
    "default-ttl-ms": whole({ min: 1 }).optional(),
    "poll-interval-ms": whole({ min: 1 }).optional(),
  }).optional(),
});

const name = filledText.describe("Unique name.");
const mediaType = filledText.refine(
  (value) => /^[\w.+-]+\/[\w.+-]+(?:\s*;.*)?$/.test(value),
  "expected a media type, text/csv",
);
const description = filledText.describe("For the language model.");

/** Other keys are ignored. Spec 2.7. */
export const mcpTool = openBlock({
  name: name
    .refine((value) => /^[A-Za-z0-9_]+$/.test(value), "expected letters, digits and underscores only")
    .refine((value) => value.length <= 128, "expected 128 characters at most"),
  description,
  "result-mime-type": mediaType.optional().describe("application/json when absent."),
});

export const mcpResource = openBlock({
  name,
  description,
  "mime-type": mediaType.optional().describe("application/json when absent."),
});

export const mcpPrompt = openBlock({
  name,
  description,
  template: filledText.describe("Mustache text."),
  arguments: texts.optional().describe("Names that the template uses."),
});

/** The keys that each takes. */
export const mcpKeys: Readonly<Record<string, readonly string[]>> = {
  "mcp-tool": Object.keys(mcpTool.out.shape),
  "mcp-resource": Object.keys(mcpResource.out.shape),
  "mcp-prompt": Object.keys(mcpPrompt.out.shape),
};
