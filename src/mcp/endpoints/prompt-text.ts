import type { PromptPart } from "../../config/prompt-template.ts";

/**
 * Renders a prompt. Missing arguments are empty. A section is rendered if its argument is not empty; an inverted section, if
 * its argument is empty.
 */
export function promptText(parts: readonly PromptPart[], args: ReadonlyMap<string, string>): string {
  return parts.map((part) => partText(part, args)).join("");
}

function partText(part: PromptPart, args: ReadonlyMap<string, string>): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "argument":
      return args.get(part.name) ?? "";
    case "section": {
      const isSet = (args.get(part.name) ?? "") !== "";
      return isSet === part.inverted ? "" : promptText(part.parts, args);
    }
  }
}
