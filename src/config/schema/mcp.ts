import { mcpAuth } from "./auth.ts";
import { block, bytes, filledText, flag, openBlock, port, text, texts, whole } from "./blocks.ts";

/** The MCP server. Spec 4.6. */
export const mcp = block({
  enabled: flag.optional(),
  port: port.optional().describe("8081 when absent; the same as http-port puts MCP on the REST listener."),
  host: filledText.optional(),
  auth: mcpAuth.optional(),
  instructions: text.optional().describe("What the server tells a language model about itself."),
  "instructions-file": filledText.optional().describe("The same, from a file."),
  "page-size": whole({ min: 1 }).optional(),
  "max-rows": whole({ min: 1 }).optional(),
  "max-text-bytes": bytes.optional(),
  "public-url": filledText.optional(),
  "allowed-hosts": texts.optional(),
  "allowed-origins": texts.optional(),
  "uri-scheme": filledText.optional(),
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
const description = filledText.describe("For the language model.");

/** Other keys are ignored. Spec 2.7. */
export const mcpTool = openBlock({
  name: name.refine((value) => /^[A-Za-z0-9_]+$/.test(value), "expected letters, digits and underscores only"),
  description,
  "result-mime-type": filledText.optional().describe("application/json when absent."),
});

export const mcpResource = openBlock({
  name,
  description,
  "mime-type": filledText.optional().describe("application/json when absent."),
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
