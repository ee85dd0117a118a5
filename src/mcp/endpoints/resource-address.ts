import { parseResourceName } from "../../config/resource-name.ts";
import { isRequired } from "../../docs/parameter-schema.ts";
import type { Parameter, RawValue } from "../../params/parameter.ts";
import { addressPattern } from "../address-pattern.ts";

/** Where a resource is found. */
export interface ResourceAddress {
  /** As it is listed; undefined when it cannot be read without a value. */
  readonly uri: string | undefined;
  /** RFC 6570, with every parameter; undefined when there is none. */
  readonly template: string | undefined;
  /** The template without its query. */
  readonly base: string;
  readonly placeholders: number;
  /** The values in an address without its query, by the names of placeholders. Undefined: it is another's. */
  match(path: string): ReadonlyMap<string, RawValue> | undefined;
}

/** The address that a name stands for: `customers/{id}` has a placeholder, other parameters stand in the query. */
export function resourceAddress(name: string, parameters: readonly Parameter[], scheme: string): ResourceAddress {
  const parts = parseResourceName(name);
  if (typeof parts === "string") throw new Error("names are checked when they are loaded");
  const names = parts.flatMap((part) => (part.kind === "param" ? part.name : []));
  const others = parameters.filter((parameter) => !names.includes(parameter.name));
  const base = `${scheme}://${parts.map((part) => (part.kind === "text" ? encodeURI(part.text) : `{${part.name}}`)).join("")}`;
  const query = others.length === 0 ? "" : `{?${others.map((other) => other.name).join(",")}}`;
  const written = [`${scheme}://`];
  for (const part of parts) {
    if (part.kind === "param") written.push("");
    else written.push(`${written.pop()}${encodeURI(part.text)}`);
  }
  const valuesIn = addressPattern(written);
  return {
    uri: names.length > 0 || others.some(isRequired) ? undefined : base,
    template: parameters.length === 0 ? undefined : base + query,
    base,
    placeholders: names.length,
    match(path) {
      const values = valuesIn(path);
      return values && new Map(names.map((each, index) => [each, textOf(decodeURIComponent(values[index] ?? ""))]));
    },
  };
}

function textOf(text: string): RawValue {
  return { kind: "text", text };
}

export interface Addressed {
  readonly address: ResourceAddress;
}

/** Finds resources by their addresses. */
export interface ResourceAddresses<R extends Addressed> {
  /** Undefined when no resource has this address. */
  find(uri: string): { readonly resource: R; readonly args: ReadonlyMap<string, RawValue> } | undefined;
}

/** About as long as REST takes one; clients of the new era repeat it in a header anyway. */
const MAX_URI_LENGTH = 16 << 10;

/** One that is written out goes before one with placeholders, as `customers/new` before `customers/{id}`. */
export function openResourceAddresses<R extends Addressed>(resources: readonly R[]): ResourceAddresses<R> {
  const ordered = resources.toSorted(
    ({ address: a }, { address: b }) => a.placeholders - b.placeholders || b.base.length - a.base.length,
  );
  return {
    find(uri) {
      if (uri.length > MAX_URI_LENGTH) return undefined;
      try {
        const { path, query } = canonical(uri);
        for (const resource of ordered) {
          const args = resource.address.match(path);
          if (args !== undefined) return { resource, args: withQuery(args, query) };
        }
      } catch (error) {
        // Escapes that are no text.
        if (!(error instanceof URIError)) throw error;
      }
      return undefined;
    },
  };
}

interface Split {
  readonly path: string;
  readonly query: readonly (readonly [name: string, text: string])[];
}

/** An address in one of its spellings: `%61` is `a`. */
function canonical(uri: string): Split {
  const [whole = ""] = uri.split("#", 1);
  const mark = whole.indexOf("?");
  const path = mark < 0 ? whole : whole.slice(0, mark);
  const pairs = mark < 0 ? [] : whole.slice(mark + 1).split("&");
  return {
    path: path
      .split(/(%[0-9A-Fa-f]{2})/)
      .map(canonicalPart)
      .join(""),
    query: pairs.filter((pair) => pair !== "").map(decodedPair),
  };
}

/** What needs no escape has none, what needs one has it in large letters. */
function canonicalPart(part: string, index: number): string {
  if (index % 2 === 0) return encodeURI(part);
  const character = String.fromCharCode(Number.parseInt(part.slice(1), 16));
  return /[\w.~!*'()-]/.test(character) ? character : part.toUpperCase();
}

function decodedPair(pair: string): readonly [string, string] {
  const [name = "", ...value] = pair.replaceAll("+", "%20").split("=");
  return [decodeURIComponent(name), decodeURIComponent(value.join("="))];
}

/** The first of several values counts. */
function withQuery(args: ReadonlyMap<string, RawValue>, query: Split["query"]): ReadonlyMap<string, RawValue> {
  if (query.length === 0) return args;
  const all = new Map(args);
  for (const [name, text] of query) if (!all.has(name)) all.set(name, textOf(text));
  return all;
}
