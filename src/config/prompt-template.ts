import { type MustacheNode, parseMustache } from "../sql/mustache-nodes.ts";
import { handlebarsHint } from "../sql/scope.ts";
import { suggestion } from "./suggest.ts";

/** A part of a prompt. Arguments are strings, so a section is never repeated. */
export type PromptPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "argument"; readonly name: string }
  | {
      readonly kind: "section";
      readonly name: string;
      readonly inverted: boolean;
      readonly parts: readonly PromptPart[];
    };

export interface ParsedPrompt {
  readonly parts: readonly PromptPart[];
  readonly problems: readonly string[];
}

/** Parses a Mustache template. `{{name}}` and `{{params.name}}` are equivalent. */
export function parsePrompt(template: string, names: readonly string[]): ParsedPrompt {
  const { nodes, problems } = parseMustache(template);
  // The parser's message is about SQL, but a prompt has none.
  const messages = problems.map(({ message }) =>
    message.replace("write the SQL out, or use a view", "write the text out"),
  );
  return { parts: partsOf(nodes, undefined, { names, messages }), problems: [...new Set(messages)] };
}

interface PromptScope {
  readonly names: readonly string[];
  readonly messages: string[];
}

/** `inside` is the argument of the enclosing section, for `{{.}}`. */
function partsOf(
  nodes: readonly MustacheNode[],
  inside: string | undefined,
  scope: PromptScope,
): readonly PromptPart[] {
  return nodes.map((node): PromptPart => {
    switch (node.kind) {
      case "text":
        return { kind: "text", text: node.text };
      case "tag":
        return { kind: "argument", name: node.name === "." && inside ? inside : nameOf(node.name, scope) };
      case "section": {
        const name = nameOf(node.name, scope);
        const parts = partsOf(node.children, node.inverted ? inside : name, scope);
        return { kind: "section", name, inverted: node.inverted, parts };
      }
    }
  });
}

function nameOf(written: string, { names, messages }: PromptScope): string {
  const name = written.startsWith("params.") ? written.slice("params.".length) : written;
  if (!names.includes(name)) messages.push(handlebarsHint(written) ?? unknownVariable(written, name, names));
  return name;
}

function unknownVariable(written: string, name: string, names: readonly string[]): string {
  const near = suggestion(name, names);
  if (near !== undefined) return `unknown variable '${written}'; did you mean '${near}'?`;
  const listed = names.length === 0 ? "which lists none" : `which lists ${names.join(", ")}`;
  return `unknown variable '${written}'; add it to arguments, ${listed}`;
}
