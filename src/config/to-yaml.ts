import { stringify } from "yaml";

/** JSON data as YAML that people read: nothing is folded or referred to, and what could be taken for something else is quoted. */
export function toYaml(data: unknown): string {
  return stringify(data, { lineWidth: 0, aliasDuplicateObjects: false, version: "1.2", compat: "core" });
}
