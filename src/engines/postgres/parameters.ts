import { RequestFailure } from "../../failure.ts";
import type { BoundValue } from "../../sql/statement.ts";

/** How values are typed: each variant is tried if the server cannot resolve the statement with the one before. */
export type Typing = (typeof TYPINGS)[number];

export const TYPINGS = ["as-literals", "inferred", "as-text"] as const;

const OID = { boolean: 16, int8: 20, int4: 23, text: 25, date: 1082, time: 1083, numeric: 1700 };
const INT4 = { least: -(2n ** 31n), most: 2n ** 31n - 1n };

/** The types of values. `as-literals`: those that the values would have as literals in the SQL. 0: the server infers it. */
export function typesOf(values: readonly BoundValue[], typing: Typing): readonly number[] {
  return values.map((bound) => (typing === "inferred" ? 0 : typeOf(bound, typing === "as-text" ? OID.text : 0)));
}

function typeOf({ type, value }: BoundValue, text: number): number {
  switch (type) {
    case "VARCHAR":
      return text;
    case "BIGINT":
      return typeof value === "bigint" && (value < INT4.least || value > INT4.most) ? OID.int8 : OID.int4;
    case "DECIMAL":
    case "DOUBLE":
      return OID.numeric;
    case "DATE":
      return OID.date;
    case "TIME":
      return OID.time;
    case "BOOLEAN":
      return OID.boolean;
  }
}

/** Values as the server reads them. */
export function textsOf(values: readonly BoundValue[]): readonly (string | null)[] {
  return values.map(({ value }) => {
    if (value === null) return null;
    const text = String(value);
    if (text.includes("\0")) throw badValue("The database cannot store a string that contains the character U+0000.");
    return text;
  });
}

/** A value that the database cannot use is a mistake of the client. */
export function badValue(message: string, options?: ErrorOptions): RequestFailure {
  return new RequestFailure({ kind: "refused-by-template", status: 400, message }, options);
}
