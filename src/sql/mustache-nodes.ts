import mustache from "mustache";
import { errorMessage } from "../error-message.ts";
import { handlebarsHint } from "./scope.ts";
import type { TemplateProblem } from "./template.ts";

/** A node of parsed Mustache. Double braces, triple braces and `{{&x}}` mean the same here. */
export type MustacheNode =
  | { readonly kind: "text"; readonly text: string; readonly offset: number }
  | { readonly kind: "tag"; readonly name: string; readonly offset: number }
  | {
      readonly kind: "section";
      readonly name: string;
      readonly inverted: boolean;
      readonly children: readonly MustacheNode[];
      readonly offset: number;
    };

type Token = readonly [type: string, value: string, start: number, end: number, children?: Token[], close?: number];

/** Parses a template's Mustache. Partials, Handlebars and broken tags are problems. */
export function parseMustache(text: string): { nodes: readonly MustacheNode[]; problems: readonly TemplateProblem[] } {
  const problems: TemplateProblem[] = [];
  let tokens: Token[];
  try {
    // The library's types do not describe its tokens; `Token` does.
    tokens = mustache.parse(text) as unknown as Token[];
  } catch (error) {
    const message = errorMessage(error);
    const at = /^(.*?) at (\d+)$/s.exec(message);
    const handlebars = /\{\{[~\s]*#[~\s]*((?:if|unless|each|with)\s[^}]*)\}\}/.exec(text);
    if (handlebars?.[1] !== undefined) {
      problems.push({
        severity: "error",
        offset: handlebars.index,
        message: handlebarsHint(handlebars[1].trim()) ?? message,
      });
      return { nodes: [], problems };
    }
    problems.push({
      severity: "error",
      offset: at ? Number(at[2]) : 0,
      message: `${lowerFirst(at?.[1] ?? message)}; every {{ needs its }} and every {{#section}} its {{/section}}`,
    });
    return { nodes: [], problems };
  }
  const nodes = toNodes(tokens, problems);
  // The library would cache parsed templates without a limit.
  mustache.clearCache();
  return { nodes, problems };
}

function toNodes(tokens: readonly Token[], problems: TemplateProblem[]): readonly MustacheNode[] {
  const nodes: MustacheNode[] = [];
  for (const [type, value, offset, , children] of tokens) {
    switch (type) {
      case "text": {
        const last = nodes.at(-1);
        // The library emits nothing for a comment, so the text before and after it becomes one node.
        if (last?.kind === "text") nodes[nodes.length - 1] = { ...last, text: last.text + value };
        else nodes.push({ kind: "text", text: value, offset });
        break;
      }
      case "name":
      case "&":
        nodes.push({ kind: "tag", name: value, offset });
        break;
      case "#":
      case "^":
        nodes.push({
          kind: "section",
          name: value,
          inverted: type === "^",
          children: toNodes(children ?? [], problems),
          offset,
        });
        break;
      case ">":
        problems.push({
          severity: "error",
          offset,
          message: `partials ({{> ${value}}}) are not supported; write the SQL out, or use a view`,
        });
        break;
      default: // Comments and changed delimiters emit nothing.
    }
  }
  return nodes;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
