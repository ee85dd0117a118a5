/** The types of bound values. Engines map them to their own types. */
export type SqlType = "VARCHAR" | "BIGINT" | "DATE" | "TIME" | "DECIMAL" | "DOUBLE" | "BOOLEAN";

/**
 * A value that is sent separately from the SQL text. BIGINT holds a bigint, BOOLEAN a boolean, the
 * others their text: `2024-02-29`, `12:30:00.5`, `29.99`.
 */
export interface BoundValue {
  readonly type: SqlType;
  readonly value: string | bigint | boolean | null;
}

/** One statement, ready to run: SQL with the dialect's placeholders, and the values for them in order. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly BoundValue[];
}

export function statement(sql: string, ...values: readonly BoundValue[]): Statement {
  return { sql, values };
}

export function textValue(value: string | null | undefined): BoundValue {
  return { type: "VARCHAR", value: value ?? null };
}

export function integerValue(value: number | undefined): BoundValue {
  return { type: "BIGINT", value: value === undefined ? null : BigInt(Math.round(value)) };
}
