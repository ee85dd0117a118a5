import { PlainScalar } from "../params/validators/scalars.ts";
import { containsToken, countReserved, type Include, type Part, RESERVED_MESSAGE, splitText } from "./directives.ts";
import type { Environment } from "./environment.ts";
import type { YamlFile } from "./yaml-file.ts";
import type { YamlScalar } from "./yaml-node.ts";

/** A scalar with its directives resolved: a value, an include, or problems. */
export type ScalarReading =
  | { readonly kind: "value"; readonly data: string | PlainScalar; readonly secrets: readonly string[] }
  | { readonly kind: "include"; readonly include: Include }
  | { readonly kind: "broken"; readonly messages: readonly string[] };

/** `mayNameArguments` is true inside a prompt, where `{{NAME}}` refers to an argument. */
export function readScalar(
  node: YamlScalar,
  file: YamlFile,
  environment: Environment,
  mayNameArguments: boolean,
): ScalarReading {
  const { value } = node;
  if (typeof value !== "string") return { kind: "value", data: new PlainScalar(value, node.source), secrets: [] };
  // Only an escape can create a token that is not in the text, and only double quotes allow escapes.
  if (node.style === "double" && countReserved(value) !== countReserved(textOf(node, file))) {
    return { kind: "broken", messages: [RESERVED_MESSAGE] };
  }
  if (!containsToken(value) && !/[{$]/.test(value)) return { kind: "value", data: value, secrets: [] };
  const parts = splitText(value, file.directives);
  const misses = parts.flatMap((part) => (part.kind === "text" ? nearMisses(part.text, mayNameArguments) : []));
  if (misses.length > 0) return { kind: "broken", messages: misses };
  const [first] = parts;
  if (parts.length === 1 && first?.kind === "include") return first;
  return substitute(parts, environment);
}

const NEAR_MISS = /\$\{\s*(?:env\.)?([A-Za-z_]\w*)\s*(:?[-?+=][^}]*)?\}|\{\{\s*env\s*:\s*(\w+)\s*\}\}/g;
const BARE_NAME = /\{\{\s*([A-Z][A-Z0-9_]+)\s*\}\}/g;

/** Rejects text that looks like an environment reference but is not one. Taken literally, it could be a guessable password. */
function nearMisses(text: string, mayNameArguments: boolean): readonly string[] {
  const found = [...text.matchAll(NEAR_MISS), ...(mayNameArguments ? [] : text.matchAll(BARE_NAME))];
  return found.map(([written, name, fallback, other]) => {
    const hint = fallback === undefined ? "" : "; there are no defaults here, so set the variable";
    return `'${written}' is no environment reference; write \${${name ?? other}}${hint}`;
  });
}

/** Replaces environment references. Runs after parsing, so that a value cannot change the structure. */
export function substitute(
  parts: readonly Part[],
  environment: Environment,
): Extract<ScalarReading, { kind: "value" | "broken" }> {
  const messages: string[] = [];
  const secrets: string[] = [];
  let text = "";
  for (const part of parts) {
    switch (part.kind) {
      case "text":
        text += part.text;
        break;
      case "env": {
        const found = environment.lookUp(part.name);
        if (!found.ok) messages.push(found.message);
        else {
          text += found.value;
          if (found.value !== "") secrets.push(found.value);
        }
        break;
      }
      case "include":
        messages.push(`'${part.text}' has text around it; an include is the whole value of its key`);
        break;
      case "malformed":
        messages.push(malformedMessage(part.text));
        break;
    }
  }
  return messages.length > 0 ? { kind: "broken", messages } : { kind: "value", data: text, secrets };
}

export function malformedMessage(text: string): string {
  return text.includes("include")
    ? `cannot read '${text}'; write {{include:<section> from <path>}}`
    : `cannot read '${text}'; write {{env.NAME}}`;
}

function textOf(node: YamlScalar, file: YamlFile): string {
  return file.source.text.slice(node.start, node.end);
}
