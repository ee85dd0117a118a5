import type { RemoteQuoting } from "./function-role.ts";
import type { ValueClass } from "./template.ts";

/** A position in the SQL, by what a value would do there. */
export type ValuePosition =
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
      /** Whether `sql_literal` quotes it. */
      readonly wrapped: boolean;
    };

const BY_ENUM = "give the parameter an enum validator with the allowedValues";

/** Why a value of this class is not allowed at this position; undefined if it is. `what` names the value in the message. */
export function positionProblem(what: string, valueClass: ValueClass, position: ValuePosition): string | undefined {
  if (valueClass === "enum") return undefined;
  switch (position.kind) {
    case "plain":
      return undefined;
    case "file":
      return `${what} would choose the file or address that is read here; ${BY_ENUM}`;
    case "option":
      if (valueClass !== "text") return undefined;
      return `${what} would set an option of ${position.function}; ${BY_ENUM}`;
    case "name":
      return `${what} would choose what ${position.function} uses; ${BY_ENUM}`;
    case "unknown":
      if (valueClass !== "text") return undefined;
      return `${what} would reach ${position.function}, which is not known to be safe with client values; ${BY_ENUM}`;
    case "sql":
      if (valueClass !== "text" || position.wrapped || position.runsIn === "another-database") return undefined;
      return `${what} would become part of the SQL that ${position.function} runs; wrap it in sql_literal(...), or ${BY_ENUM}`;
  }
}
