import { parseResourceName } from "../../config/resource-name.ts";
import { isRequired } from "../../docs/parameter-schema.ts";
import type { Parameter, RawValue } from "../../params/parameter.ts";
import { addressPattern } from "../address-pattern.ts";

/** The URIs of a resource. */
export interface ResourceAddress {
  /** The listed URI. Undefined if the resource cannot be read without a value. */
  readonly uri: string | undefined;
  /** The URI template (RFC 6570) with every parameter. Undefined if there are none. */
  readonly template: string | undefined;
  /** The template without its query. */
  readonly base: string;
  readonly placeholders: number;
  /** The values in a URI without its query, by placeholder. Undefined if the URI does not match. */
  match(path: string): ReadonlyMap<string, RawValue> | undefined;
}

/** The URIs of the resource with this name. `customers/{id}` has a placeholder; other parameters are in the query. */
export function resourceAddress(name: string, parameters: readonly Parameter[], scheme: string): ResourceAddress {
  const parts = parseResourceName(name);
  if (typeof parts === "string") throw new Error("names are checked when they are loaded");
  const names = parts.flatMap((part) => (part.kind === "param" ? part.name : []));
  const others = parameters.filter((parameter) => !names.includes(parameter.name));
  const base = `${scheme}://${parts.map((part) => (part.kind === "text" ? encodeURI(part.text) : `{${part.name}}`)).join("")}`;
  const query = others.length === 0 ? "" : `{?${others.map((other) => other.name).join(",")}}`;
  const literals = [`${scheme}://`];
  for (const part of parts) {
    if (part.kind === "param") literals.push("");
    else literals.push(`${literals.pop()}${encodeURI(part.text)}`);
  }
  const valuesIn = addressPattern(literals);
  return {
    uri: names.length > 0 || others.some(isRequired) ? undefined : base,
    template: parameters.length === 0 ? undefined : base + query,
    base,
    placeholders: names.length,
    match(path) {
      const values = valuesIn(path);
      return values && new Map(names.map((each, index) => [each, textValue(decodeURIComponent(values[index] ?? ""))]));
    },
  };
}

function textValue(text: string): RawValue {
  return { kind: "text", text };
}

export interface WithAddress {
  readonly address: ResourceAddress;
}

/** Finds resources by URI. */
export interface ResourceAddresses<R extends WithAddress> {
  /** Undefined if no resource has this URI. */
  find(uri: string): { readonly resource: R; readonly args: ReadonlyMap<string, RawValue> } | undefined;
}

/** Similar to the limit of REST. Modern clients repeat the URI in a header anyway. */
const MAX_URI_LENGTH = 16 << 10;

/** Resources with fewer placeholders take precedence, such as `customers/new` over `customers/{id}`. */
export function openResourceAddresses<R extends WithAddress>(resources: readonly R[]): ResourceAddresses<R> {
  const ordered = resources.toSorted(
    ({ address: a }, { address: b }) => a.placeholders - b.placeholders || b.base.length - a.base.length,
  );
  return {
    find(uri) {
      if (uri.length > MAX_URI_LENGTH) return undefined;
      try {
        const { path, query } = canonicalUri(uri);
        for (const resource of ordered) {
          const args = resource.address.match(path);
          if (args !== undefined) return { resource, args: withQuery(args, query) };
        }
      } catch (error) {
        // Invalid escapes match no resource.
        if (!(error instanceof URIError)) throw error;
      }
      return undefined;
    },
  };
}

interface UriParts {
  readonly path: string;
  readonly query: readonly (readonly [name: string, text: string])[];
}

/** Normalizes a URI: `%61` becomes `a`. */
function canonicalUri(uri: string): UriParts {
  const [whole = ""] = uri.split("#", 1);
  const queryStart = whole.indexOf("?");
  const path = queryStart < 0 ? whole : whole.slice(0, queryStart);
  const pairs = queryStart < 0 ? [] : whole.slice(queryStart + 1).split("&");
  return {
    path: path
      .split(/(%[0-9A-Fa-f]{2})/)
      .map(canonicalPart)
      .join(""),
    query: pairs.filter((pair) => pair !== "").map(decodePair),
  };
}

/** Removes unnecessary escapes, and converts the others to upper case. */
function canonicalPart(part: string, index: number): string {
  if (index % 2 === 0) return encodeURI(part);
  const character = String.fromCharCode(Number.parseInt(part.slice(1), 16));
  return /[\w.~!*'()-]/.test(character) ? character : part.toUpperCase();
}

function decodePair(pair: string): readonly [string, string] {
  const [name = "", ...value] = pair.replaceAll("+", "%20").split("=");
  return [decodeURIComponent(name), decodeURIComponent(value.join("="))];
}

/** Adds the values of the query. The first value of a name counts. */
function withQuery(args: ReadonlyMap<string, RawValue>, query: UriParts["query"]): ReadonlyMap<string, RawValue> {
  if (query.length === 0) return args;
  const all = new Map(args);
  for (const [name, text] of query) if (!all.has(name)) all.set(name, textValue(text));
  return all;
}
