import { readFileSync } from "node:fs";
import { join } from "node:path";

type Names =
  | "queries"
  | "headerNames"
  | "headers"
  | "json"
  | "methods"
  | "paths"
  | "headerLines"
  | "bodies"
  | "junk"
  | "yaml"
  | "variables"
  | "sql";

/** What inputs are made of, by the language that they are in. `lexical`: groups of what may follow each other in SQL. */
export const words: Readonly<Record<Names, readonly string[]>> & { readonly lexical: readonly (readonly string[])[] } =
  JSON.parse(readFileSync(join(import.meta.dirname, "words.json"), "utf8"));
