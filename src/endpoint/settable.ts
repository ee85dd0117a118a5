import type { Project } from "../config/project.ts";
import type { Dialect } from "../sql/dialect.ts";
import { settingsChangedBy } from "../sql/privileged-actions.ts";

/** The database settings, in lower case, that must not be locked because writes with `operation.allow: [set]` change them. */
export function settingsChangedByWrites({ endpoints }: Project, dialect: Dialect): readonly string[] {
  const names = endpoints.flatMap(({ operation, template }) =>
    operation.allow.includes("set") && template !== undefined ? settingsChangedBy(template.text, dialect) : [],
  );
  return [...new Set(names)].toSorted();
}
