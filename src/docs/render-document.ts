import { toYaml } from "../config/to-yaml.ts";
import type { JsonObject } from "./json.ts";

/** The text of a document, rendered once. Only the URL of the service differs between clients. */
export interface RenderedDocument {
  json(server: string): string;
  yaml(server: string): string;
}

/** Placeholder for the URL. Unlikely to occur in a document, and never escaped in JSON or YAML. */
const PLACEHOLDER = "eider-server-7f3c1a";

export function renderDocument(document: JsonObject): RenderedDocument {
  const template: JsonObject = { ...document, servers: [{ url: PLACEHOLDER }] };
  return {
    json: textFor(JSON.stringify(PLACEHOLDER), () => JSON.stringify(template)),
    // A JSON string is also a YAML string.
    yaml: textFor(PLACEHOLDER, () => toYaml(template)),
  };
}

function textFor(placeholder: string, render: () => string): (server: string) => string {
  let pieces: readonly string[] | undefined;
  /** Only the last text is cached, because most clients use the same URL. */
  let last: { readonly server: string; readonly text: string } | undefined;
  return (server) => {
    if (last?.server === server) return last.text;
    pieces ??= render().split(placeholder);
    last = { server, text: pieces.join(JSON.stringify(server)) };
    return last.text;
  };
}
