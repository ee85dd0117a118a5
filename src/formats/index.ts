import { arrow } from "./arrow/arrow.ts";
import { csv } from "./csv/csv.ts";
import type { Format } from "./format.ts";
import { json } from "./json/json.ts";
import { ndjson } from "./ndjson/ndjson.ts";
import { parquet } from "./parquet/parquet.ts";

/** The response formats. The first is the default. To add one, create its folder and list it here. */
export const formats: readonly Format[] = [json, csv, arrow, ndjson, parquet];
