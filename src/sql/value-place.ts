import type { RemoteQuoting } from "./function-role.ts";
import type { ValueClass } from "./template.ts";

/** What a value would do at its position in the SQL. */
export type ValuePlace =
  /** It is only compared, computed with or returned. */
  | { readonly kind: "plain" }
  /** It names a file or an address. */
  | { readonly kind: "file" }
  /** It is an option of a function that reads files. */
  | { readonly kind: "option"; readonly function: string }
  /** It names a table, a column, a sequence, a setting or a variable. */
  | { readonly kind: "name"; readonly function: string }
  /** It goes to a function whose effect is not known. */
  | { readonly kind: "unknown"; readonly function: string }
  /** It becomes part of SQL. */
  | {
      readonly kind: "sql";
      readonly function: string;
      readonly quoting: RemoteQuoting;
      readonly runsIn: "this-database" | "another-database";
      /** `sql_literal` quotes it. */
      readonly wrapped: boolean;
    };

const BY_ENUM = "give the parameter an enum validator with the allowedValues";

/** The problem of a value with these traits at this place; undefined if it is allowed. `what` names the value. */
export function misplaced(what: string, traits: ValueClass, place: ValuePlace): string | undefined {
  if (traits === "enum") return undefined;
  switch (place.kind) {
    case "plain":
      return undefined;
    case "file":
      return `${what} would choose the file or address that is read here; ${BY_ENUM}`;
    case "option":
      if (traits !== "text") return undefined;
      return `${what} would set an option of ${place.function}; ${BY_ENUM}`;
    case "name":
      return `${what} would choose what ${place.function} uses; ${BY_ENUM}`;
    case "unknown":
      if (traits !== "text") return undefined;
      return `${what} would reach ${place.function}, which is not known to be safe with client values; ${BY_ENUM}`;
    case "sql":
      if (traits !== "text" || place.wrapped || place.runsIn === "another-database") return undefined;
      return `${what} would become part of the SQL that ${place.function} runs; wrap it in sql_literal(...), or ${BY_ENUM}`;
  }
}
