import { z } from "zod";
import { CURSOR_TYPES, cursorTypeOf, otherNamesOf } from "../../cache/cursor.ts";
import { formSchema } from "../../params/validators/scalars.ts";
import { unknownMessage } from "../suggest.ts";
import { block, bytes, choice, duration, enabled, flag, integer, nonEmptyString, string, strings } from "./blocks.ts";

const retention = block({
  "keep-last-snapshots": integer({ min: 1 }).optional().describe("Number of snapshots kept."),
  "max-snapshot-age": duration.optional().describe("Older snapshots are removed, never the current one."),
});

const typeNames = CURSOR_TYPES.flatMap((type) => [type, ...otherNamesOf(type)]);
/** In lower or upper case, with optional arguments: `DECIMAL(18,2)`. */
const typePattern = `(?:${[...typeNames, ...typeNames.map((name) => name.toUpperCase())].join("|")})(?:\\([0-9, ]+\\))?`;

const cursorType = nonEmptyString
  .transform((text, context) => {
    const type = cursorTypeOf(text);
    if (type !== undefined) return { text, type };
    context.addIssue({ code: "custom", message: unknownMessage("type", text, CURSOR_TYPES) });
    return z.NEVER;
  })
  .meta(formSchema(typePattern));

/** The `cache` block of an endpoint. */
export const endpointCache = block({
  enabled,
  table: nonEmptyString.optional().describe("Cache table name."),
  schema: nonEmptyString.prefault("cache").describe("Schema that holds the cache table."),
  schedule: string
    .transform((value, context) => {
      const ms = duration.safeParse(value);
      if (ms.success && ms.data > 0) return { text: value, ms: ms.data };
      const message = ms.success
        ? "expected more than zero, found"
        : "expected a duration such as 5m (a number, then one of s, m, h, d), found";
      context.addIssue({ code: "custom", message: `${message} '${value}'` });
      return z.NEVER;
    })
    .meta({ ...duration.meta() })
    .optional()
    .describe("Time between refreshes, for example 5m."),
  "primary-key": strings.optional().describe("Key columns: rows are merged instead of appended."),
  cursor: block({
    column: nonEmptyString.describe("Column used for incremental refresh."),
    type: cursorType.optional().describe("Type as which its values are compared, for example timestamp."),
  })
    .optional()
    .describe("Incremental refresh."),
  retention: retention.optional().describe("How long snapshots are kept."),
  "template-file": nonEmptyString
    .optional()
    .describe("SQL template of the refresh, relative to template.path or to this file."),
  "invalidate-on-write": flag.prefault(false).describe("A write marks the cache stale."),
  "refresh-on-write": flag.prefault(false).describe("A write refreshes the cache at once."),
  "allow-client-refresh": flag.prefault(false).describe("A client that sends Cache-Control: no-cache gets new rows."),
});

export type EndpointCacheInput = z.output<typeof endpointCache>;

/** The `cache` block of the main file. */
export const mainCache = block({
  enabled,
  path: nonEmptyString.optional().describe("File of the cache database; in memory when absent."),
  backend: choice(["duckdb", "ducklake"]).optional(),
  "metadata-path": nonEmptyString.optional(),
  "data-path": nonEmptyString.optional(),
  "warm-up": flag.prefault(false).describe("Fill caches at startup."),
  "max-bytes": bytes.prefault("256MiB").describe("Size of the result cache and the response cache."),
  "max-concurrent-refreshes": integer({ min: 1, max: 64 }).prefault(2),
});

/** flAPI's equivalent of `mainCache`. */
export const ducklake = block({
  enabled,
  alias: nonEmptyString.prefault("cache"),
  "metadata-path": nonEmptyString.optional(),
  "data-path": nonEmptyString.optional(),
  retention: retention.optional(),
  scheduler: block({ enabled, "scan-interval": duration.optional() }).prefault({}),
  compaction: block({ enabled: flag.optional(), schedule: nonEmptyString.optional() }).optional(),
});
