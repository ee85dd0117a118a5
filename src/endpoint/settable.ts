import type { Project } from "../config/project.ts";
import type { Dialect } from "../sql/dialect.ts";
import { settingsNamed } from "../sql/reach.ts";

/** Settings of the database (in lower case) that writes with `operation.allow: [set]` change: they cannot be locked. */
export function settableBy({ endpoints }: Project, dialect: Dialect): readonly string[] {
  const names = endpoints.flatMap(({ operation, template }) =>
    operation.allow.includes("set") && template !== undefined ? settingsNamed(template.text, dialect) : [],
  );
  return [...new Set(names)].toSorted();
}
