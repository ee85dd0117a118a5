/** A name for URLs, files and connections: lower-case letters without accents, digits, underscores and separators. */
export function slugOf(name: string, separator: "-" | "_"): string {
  const slug = name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, separator)
    .replaceAll(/^[-_]+|[-_]+$/g, "");
  return slug || "data";
}

/** The name of a parameter that filters a column: its letters, in any script, and digits. */
export function parameterName(column: string): string {
  return column.normalize("NFC").replaceAll(/[^\p{L}\p{N}\p{M}_]+/gu, "_");
}

/** The first of `name`, `name_2`, `name_3`, ... that is not taken. From then on it is. */
export function takeName(name: string, taken: Set<string>, separator: "-" | "_" = "_"): string {
  let unique = name;
  for (let number = 2; taken.has(unique); number++) unique = `${name}${separator}${number}`;
  taken.add(unique);
  return unique;
}

/** Whether YAML and templates take the text as it is: no environment variable, no tag. */
export function isPlain(text: string): boolean {
  return !/[${}]/.test(text);
}
