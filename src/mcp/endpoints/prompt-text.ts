import type { PromptPart } from "../../config/prompt-template.ts";

/** A prompt filled in. What is missing is empty, and a section shows when its argument says something. */
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
      const isSaid = (args.get(part.name) ?? "") !== "";
      return isSaid === part.inverted ? "" : promptText(part.parts, args);
    }
  }
}
