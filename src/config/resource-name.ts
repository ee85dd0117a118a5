/** A part of a resource name: literal text, or the name of a parameter. */
export type ResourcePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "param"; readonly name: string };

const PLACEHOLDER = /\{([^{}]*)\}/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The parts of a name such as `customers/{id}`, or an error message. */
export function parseResourceName(written: string): readonly ResourcePart[] | string {
  if (/[?#]/.test(written)) return "a name holds no '?' and no '#'; declare parameters under 'request'";
  const parts: ResourcePart[] = [];
  let end = 0;
  for (const match of written.matchAll(PLACEHOLDER)) {
    const [whole, name = ""] = match;
    if (!NAME.test(name)) return `'${whole}' is not a placeholder; write {name} with letters, digits and underscores`;
    if (parts.some((part) => part.kind === "param" && part.name === name))
      return `'${whole}' is there twice; give each its own name`;
    if (parts.length > 0 && match.index === end)
      return `'${whole}' touches the placeholder before it; put a '/' between`;
    if (match.index > end) parts.push({ kind: "text", text: written.slice(end, match.index) });
    parts.push({ kind: "param", name });
    end = match.index + whole.length;
  }
  if (end < written.length) parts.push({ kind: "text", text: written.slice(end) });
  const isBraced = parts.some((part) => part.kind === "text" && /[{}]/.test(part.text));
  return isBraced ? "a brace has no partner; a placeholder is {name}" : parts;
}

/** Names with the same shape have the same URIs, because the names of placeholders do not matter. */
export function shapeOfResource(parts: readonly ResourcePart[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "{}")).join("");
}
