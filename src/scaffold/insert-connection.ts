import { toYaml } from "../config/to-yaml.ts";

/**
 * The text of a configuration file with one more connection. Undefined if the place for it is not clear. The caller loads the result
 * before writing it.
 */
export function insertConnection(text: string, name: string, options: unknown): string | undefined {
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = text.split(/\r?\n/);
  const entry = toYaml({ [name]: options })
    .trimEnd()
    .split("\n");
  const at = lines.findIndex((line) => /^connections:\s*(?:#.*)?$/.test(line));
  if (at < 0) {
    if (/^\W*connections\b/m.test(text)) return undefined;
    const before = text === "" || text.endsWith("\n") ? text : `${text}${end}`;
    return `${before}${["connections:", ...entry.map((line) => `  ${line}`), ""].join(end)}`;
  }
  const first = lines.slice(at + 1).find((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  const indent = /^ +/.exec(first ?? "")?.[0] ?? "  ";
  return [...lines.slice(0, at + 1), ...entry.map((line) => `${indent}${line}`), ...lines.slice(at + 1)].join(end);
}
