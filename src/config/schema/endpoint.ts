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
  "url-path": nonEmptyString.optional().describe("URL path with :name placeholders, for example /customers/:id."),
  method: choiceInAnyCase(methods).prefault("GET").describe("HTTP method."),
  "template-source": nonEmptyString.optional().describe("SQL template, relative to template.path or to this file."),
  connection: strings
    .optional()
    .describe("Connections that the template uses; conn.* are the properties of the first."),
  request: list(requestEntry).prefault([]).describe("Parameters of a request."),
  returns: choice(["one", "many"]).prefault("many").describe("one: return a single object, or 404 if there is no row."),
  "with-pagination": flag.prefault(true).describe("Return pages, with the total and a link to the next page."),
  "request-fields-validation": flag.prefault(false).describe("Reject parameters that are not declared."),
  auth: auth.optional().describe("Replaces the global auth block completely."),
  "max-concurrency": integer({ min: 1 }).optional().describe("Queries of this endpoint that run at the same time."),
  "rate-limit": rateLimit.optional().describe("Replaces the global rate-limit block completely."),
  cache: endpointCache.optional().describe("Cache the rows."),
  operation: block({
    type: choiceInAnyCase(["read", "write"]).optional().describe("By default, GET reads, and the other methods write."),
    "returns-data": flag.prefault(false).describe("Return the rows of RETURNING, or of a final SELECT."),
    transaction: flag.prefault(true).describe("Run the whole template in one transaction."),
    "validate-before-write": flag.prefault(true).describe("Reject invalid parameters before any SQL runs."),
    "http-status": ownHttpStatus
      .optional()
      .describe("Response statuses of this write; each key overrides that of the configuration file."),
    allow: choices(permissions).prefault([]).describe("Restricted statements that the template of a write may run."),
  })
    .prefault({})
    .describe("Whether the template reads or writes, and how."),
  heartbeat: block({
    enabled,
    params: record(string).prefault({}).describe("Parameters of these runs."),
  })
    .optional()
    .describe("Run the read regularly, and report the result at /health/ready."),
  "mcp-tool": mcpTool.optional().describe("Offer the query as an MCP tool."),
  "mcp-resource": mcpResource.optional().describe("Offer the query as an MCP resource."),
  "mcp-prompt": mcpPrompt.optional().describe("Offer text as an MCP prompt."),
  summary: string.optional().describe("One line for the documentation."),
  description: string.optional().describe("Text for the documentation."),
  tags: strings.prefault([]).describe("Groups in the documentation."),
  deprecated: flag.prefault(false).describe("Mark the endpoint as deprecated in the documentation."),
});

export type EndpointInput = z.output<typeof endpointSchema>;
