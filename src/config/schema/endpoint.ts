import type { z } from "zod";
import { permissions } from "../../sql/privileged-action.ts";
import { auth, rateLimit } from "./auth.ts";
import {
  block,
  choice,
  choiceInAnyCase,
  choices,
  enabled,
  flag,
  integer,
  list,
  nonEmptyString,
  record,
  string,
  strings,
} from "./blocks.ts";
import { endpointCache } from "./cache.ts";
import { ownHttpStatus } from "./http-status.ts";
import { mcpPrompt, mcpResource, mcpTool } from "./mcp.ts";
import { requestEntry } from "./request.ts";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
export type Method = (typeof methods)[number];

/** A file with one of these keys is an endpoint. */
export const kindKeys = ["url-path", "mcp-tool", "mcp-resource", "mcp-prompt"] as const;

/** One endpoint file. */
export const endpointSchema = block({
  "url-path": nonEmptyString.optional().describe("Path with :name placeholders, /customers/:id."),
  method: choiceInAnyCase(methods).prefault("GET"),
  "template-source": nonEmptyString.optional().describe("SQL template, found from template.path."),
  connection: strings.optional().describe("Names of connections; conn.* refers to the first."),
  request: list(requestEntry).prefault([]).describe("Parameters."),
  returns: choice(["one", "many"]).prefault("many").describe("one: an object, and 404 when there is none."),
  "with-pagination": flag.prefault(true),
  "request-fields-validation": flag.prefault(false).describe("Reject parameters that are not declared."),
  auth: auth.optional().describe("Replaces the global block as a whole."),
  "max-concurrency": integer({ min: 1 }).optional().describe("Queries at a time."),
  "rate-limit": rateLimit.optional().describe("Replaces the global block as a whole."),
  cache: endpointCache.optional().describe("Cache the rows."),
  operation: block({
    type: choiceInAnyCase(["read", "write"]).optional().describe("From the method when absent."),
    "returns-data": flag.prefault(false).describe("Return the rows of RETURNING."),
    transaction: flag.prefault(true),
    "validate-before-write": flag.prefault(true),
    "http-status": ownHttpStatus.optional().describe("Statuses of a write; each key overrides the main file."),
    allow: choices(permissions).prefault([]).describe("What the template of a write may do beyond its data."),
  })
    .prefault({})
    .describe("What the template does."),
  heartbeat: block({
    enabled,
    params: record(string).prefault({}).describe("Values for the parameters of the template."),
  })
    .optional()
    .describe("Run the read regularly, for /health/ready."),
  "mcp-tool": mcpTool.optional().describe("Offer the query as an MCP tool."),
  "mcp-resource": mcpResource.optional().describe("Offer the query as an MCP resource."),
  "mcp-prompt": mcpPrompt.optional().describe("Offer text as an MCP prompt."),
  summary: string.optional().describe("One line; shown in OpenAPI."),
  description: string.optional().describe("For people; shown in OpenAPI."),
  tags: strings.prefault([]).describe("Groups in the documentation."),
  deprecated: flag.prefault(false).describe("Marked as deprecated in OpenAPI."),
});

export type EndpointInput = z.output<typeof endpointSchema>;
