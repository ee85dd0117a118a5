import { z } from "zod";
import { found, PlainScalar } from "../../params/validators/scalars.ts";
import { unknown } from "../suggest.ts";
import { isMapping, type Mapping } from "../tree.ts";
import { block, filledText, flag, record, text, whole } from "./blocks.ts";

const keys = {
  init: text.optional().describe("SQL that runs once before the first use."),
  type: filledText.optional().describe("Short form of init, with options of its own beside it."),
  properties: record(text).optional().describe("Readable in templates as conn.<key>."),
  "read-only": flag.optional().describe("False when absent."),
  lazy: flag.optional().describe("True when absent: a source that is down does not stop the service."),
  "max-concurrency": whole({ min: 1 }).optional().describe("Queries at a time."),
  "log-queries": flag.optional(),
  "log-parameters": flag.optional(),
};
const own = block(keys);

/** One data source. Beside `type` stand options that the type knows; without it nothing else may. */
export const connection = z.unknown().transform((input, context) => {
  const isOption = (key: string) => isMapping(input) && "type" in input && !Object.hasOwn(keys, key);
  const rest: Mapping = Object.create(null);
  const options: Record<string, string> = Object.create(null);
  const refuse = (path: PropertyKey[], message: string) => context.addIssue({ code: "custom", path, message });
  for (const [key, value] of Object.entries(isMapping(input) ? input : {})) {
    if (!isOption(key)) rest[key] = value;
    else if (typeof value === "string") options[key] = value;
    else if (value instanceof PlainScalar && value.source !== "") options[key] = value.source;
    else refuse([key], `expected text, found ${found(value)}`);
  }
  // `name:` with nothing after it is a source that needs no set-up.
  const nothing = input instanceof PlainScalar && input.value === null;
  const result = own.safeParse(isMapping(input) ? rest : nothing ? Object.create(null) : input);
  if (result.success) return { ...result.data, options };
  for (const issue of result.error.issues) {
    if (issue.code !== "unrecognized_keys") refuse([...issue.path], issue.message);
    else for (const key of issue.keys) refuse([...issue.path, key], unknown("key", key, Object.keys(keys)));
  }
  return z.NEVER;
});

export type ConnectionInput = z.output<typeof connection>;
