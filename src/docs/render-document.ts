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
  return {
    json: textFor(JSON.stringify(PLACE), () => JSON.stringify(template)),
    // An address in the quotes of JSON is one in YAML too.
    yaml: textFor(PLACE, () => toYaml(template)),
  };
}

function textFor(place: string, render: () => string): (server: string) => string {
  let pieces: readonly string[] | undefined;
  /** Most ask at the same address. */
  let last: { readonly server: string; readonly text: string } | undefined;
  return (server) => {
    if (last?.server === server) return last.text;
    pieces ??= render().split(place);
    last = { server, text: pieces.join(JSON.stringify(server)) };
    return last.text;
  };
}
