import { formSchema } from "../../params/validators/scalars.ts";
import { mcpAuth } from "./auth.ts";
import { block, bytes, choice, enabled, integer, nonEmptyString, openBlock, port, string, strings } from "./blocks.ts";

/** The MCP server. */
export const mcp = block({
  enabled,
  port: port.prefault(8081).describe("If it equals http-port, the REST listener serves MCP too."),
  host: nonEmptyString.prefault("127.0.0.1"),
  auth: mcpAuth.optional(),
  instructions: string.optional().describe("Instructions for the language model."),
  "instructions-file": nonEmptyString.optional().describe("The same, from a file."),
  "page-size": integer({ min: 1 }).prefault(100).describe("Entries per page of a list."),
  "max-rows": integer({ min: 1 }).prefault(1000).describe("Rows per result."),
  "max-text-bytes": bytes.prefault(100_000).describe("Size of one result."),
  "public-url": nonEmptyString.optional().describe("The URL that clients use."),
  "allowed-hosts": strings.prefault([]).describe("Further accepted values of the Host header."),
  "allowed-origins": strings.prefault([]).describe("Origins of web pages that may call."),
  "uri-scheme": nonEmptyString.prefault("eider").describe("Scheme of resource URIs."),
  "result-text": choice(["json", "markdown", "csv"]).prefault("json").describe("Format of rows in text."),
  tasks: block({
    enabled,
    "after-ms": integer().prefault(5000),
    workers: integer({ min: 1 }).prefault(4),
    "queue-depth": integer().prefault(100),
    "ttl-ms": integer({ min: 1 }).prefault(900_000),
    "poll-interval-ms": integer({ min: 1 }).prefault(1000),
  }).prefault({}),
});

const name = nonEmptyString.describe("Unique name.");
const mediaType = nonEmptyString
  .refine((value) => /^[\w.+-]+\/[\w.+-]+(?:\s*;.*)?$/.test(value), "expected a media type, text/csv")
  .meta(formSchema("[\\w.+-]+/[\\w.+-]+(?:\\s*;.*)?"))
  .prefault("application/json");
const description = nonEmptyString.describe("For the language model.");

/** Other keys are ignored. */
export const mcpTool = openBlock({
  name: name
    .refine((value) => /^[A-Za-z0-9_]+$/.test(value), "expected letters, digits and underscores only")
    .refine((value) => value.length <= 128, "expected 128 characters at most")
    .meta(formSchema("[A-Za-z0-9_]+", { type: ["string", "integer", "boolean"], minimum: 0 })),
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
  template: nonEmptyString.describe("Mustache text."),
  arguments: strings.prefault([]).describe("Names that the template uses."),
});

/** The known keys of each block. */
export const mcpKeys: Readonly<Record<string, readonly string[]>> = {
  "mcp-tool": Object.keys(mcpTool.out.shape),
  "mcp-resource": Object.keys(mcpResource.out.shape),
  "mcp-prompt": Object.keys(mcpPrompt.out.shape),
};
