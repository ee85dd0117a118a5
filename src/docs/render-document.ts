import { toYaml } from "../config/to-yaml.ts";
import type { JsonObject } from "./json.ts";

/** The text of a document, made once; only the address of the service differs between those who ask. */
export interface RenderedDocument {
  json(server: string): string;
  yaml(server: string): string;
}

/** Stands where the address will be: a word that nobody else writes, and that neither JSON nor YAML changes. */
const PLACE = "eider-server-7f3c1a";

/** Each text is made when it is first asked for. */
export function renderDocument(document: JsonObject): RenderedDocument {
  const template: JsonObject = { ...document, servers: [{ url: PLACE }] };
  const texts = new Map<"json" | "yaml", readonly string[]>();
  const split = (kind: "json" | "yaml", place: string, render: () => string): readonly string[] => {
    const known = texts.get(kind) ?? render().split(place);
    texts.set(kind, known);
    return known;
  };
  return {
    // An address in JSON's quotes is one in YAML too.
    json: (server) => split("json", JSON.stringify(PLACE), () => JSON.stringify(template)).join(JSON.stringify(server)),
    yaml: (server) => split("yaml", PLACE, () => toYaml(template)).join(JSON.stringify(server)),
  };
}
