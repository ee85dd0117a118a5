import { z } from "zod";
import { PlainScalar } from "../../params/validators/scalars.ts";
import { isMapping } from "../tree.ts";
import { block, flag, integer, list, nonEmptyString, record, string, strings, texts } from "./blocks.ts";

/** A name alone is an identity without roles. */
const user = z
  .preprocess(
    nameToMapping,
    block({
      username: nonEmptyString,
      email: string.optional(),
      roles: strings.prefault([]),
      groups: strings.prefault([]),
    }),
  )
  .meta({ type: ["object", "string"], pattern: "\\S" });

function nameToMapping(input: unknown): unknown {
  const name = input instanceof PlainScalar ? input.source : input;
  return typeof name === "string" ? Object.assign(Object.create(null), { username: name }) : input;
}

/** The key of a whole path, such as `/customers/7`, among the values of its placeholders. No placeholder has this name. */
export const WHOLE_PATH = "/";

function pathToMapping(input: unknown): unknown {
  return typeof input === "string" ? Object.assign(Object.create(null), { [WHOLE_PATH]: input }) : input;
}

/** A list of errors as in a response. Anything else is checked as a mapping. */
function errorsToMapping(input: unknown): unknown {
  if (!Array.isArray(input) || input.length === 0) return input;
  const entries = input.map((each: unknown) => (isMapping(each) ? [each["field"], each["message"]] : []));
  return entries.every(([field, message]) => typeof field === "string" && typeof message === "string")
    ? Object.assign(Object.create(null), Object.fromEntries(entries))
    : input;
}

const mapping = z.unknown().refine(isMapping, "expected a mapping").meta({ type: "object" });

/** One file of endpoint tests. */
export const testFileSchema = block({
  endpoint: nonEmptyString.optional().describe("The endpoint under test: /customers/:id, or POST /customers."),
  tool: nonEmptyString.optional().describe("The MCP tool under test."),
  tests: list(
    block({
      name: nonEmptyString.describe("Unique in this file."),
      setup: nonEmptyString.optional().describe("SQL that changes the copy of the data before the request."),
      request: block({
        path: z
          .preprocess(pathToMapping, record(string))
          .meta({ type: ["object", "string"], pattern: "^/" })
          .prefault({})
          .describe("The path, such as /customers/7, or only the values of its placeholders."),
        query: record(texts).prefault({}).describe("Query parameters. A list repeats the parameter."),
        headers: record(string).prefault({}),
        body: z.unknown().optional().describe("Sent as JSON, or as it is if it is a string; the arguments of a tool."),
        user: user.optional().describe("The identity of the client: a username, or a mapping."),
      })
        .prefault({})
        .describe("What is sent."),
      expect: block({
        status: integer({ min: 100, max: 599 }).optional().describe("By default any success, or 400 with errors."),
        rows: z.unknown().optional().describe("The number of rows, or the rows themselves."),
        "total-count": integer().optional().describe("The rows of all pages."),
        columns: strings.optional().describe("The columns of the rows, in order."),
        "every-row": mapping.optional().describe("Columns that have the same value in every row."),
        "first-row": mapping.optional().describe("Columns of the first row."),
        body: z.unknown().optional().describe("The whole body."),
        errors: z
          .preprocess(errorsToMapping, record(string))
          .meta({ type: ["object", "array"] })
          .optional()
          .describe("The message for each rejected field, or a list of field and message as in the response."),
        snapshot: flag.prefault(false).describe("Compare status and body with the stored ones."),
      }).describe("What must come back."),
    }),
  ).describe("Each starts from the same data."),
});

export type TestFileInput = z.output<typeof testFileSchema>;
