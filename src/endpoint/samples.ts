import type { CacheName } from "../cache/cache.ts";
import { snapshotTable } from "../cache/store-names.ts";
import type { Parameter, ParamValue } from "../params/parameter.ts";
import type { Lookup } from "../sql/render.ts";
import { authVariables } from "../sql/scope.ts";
import type { SqlType } from "../sql/statement.ts";
import type { LiteralPart, Piece, Template } from "../sql/template.ts";
import type { Endpoint } from "./endpoint.ts";

/** Values to check a template with at load time. */
export interface Sample {
  /** least: no optional values. all: every value. value: all, with another enum value. some: some optional values. */
  readonly kind: "least" | "all" | "value" | "some";
  /** Describes the sample in messages. */
  readonly note: string;
  /** By name, such as `params.id`. */
  readonly values: ReadonlyMap<string, ParamValue>;
  /** Names that are not always set. */
  readonly optional: readonly string[];
}

export function sampleLookup({ values }: Sample): Lookup {
  return ({ scope, name }) => values.get(`${scope}.${name}`);
}

const SAMPLE_VALUES: Readonly<Record<SqlType, ParamValue["value"]>> = {
  VARCHAR: "a",
  BIGINT: 1n,
  DATE: "2024-01-01",
  TIME: "00:00:00",
  DECIMAL: "1",
  DOUBLE: "1e0",
  BOOLEAN: true,
};

const NIL_UUID = "00000000-0000-0000-0000-000000000000";

/** Variables that every snapshot has. */
const ALWAYS_SET: ReadonlySet<string> = new Set(["cache.table", "cache.snapshotId", "cache.snapshotTimestamp"]);

/** A name in the format of a snapshot's table. */
export function sampleTable(name: CacheName): string {
  return snapshotTable(name, 1, () => "0");
}

/** The samples `least` and `all`, then one for each further value of an enum that becomes part of the SQL. */
export function samplesOf({ parameters, operation, cache }: Endpoint, template: Template): readonly Sample[] {
  const declared = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  const values = new Map<string, ParamValue>();
  const optional: string[] = [];
  const paged = operation.kind === "read" && operation.paginated;
  for (const [key, { scope, name, type }] of template.reads) {
    const parameter = scope === "params" ? declared.get(name) : undefined;
    if (key === "params.limit" || key === "params.offset") {
      values.set(key, sampleValue("BIGINT"));
      if (!paged) optional.push(key);
    } else if (key === "cache.table" && cache !== undefined) {
      const table = sampleTable(cache.name);
      values.set(key, { text: table, type: "VARCHAR", value: table });
    } else {
      values.set(
        key,
        parameter === undefined ? sampleValue(type === "UUID" ? "VARCHAR" : type) : firstValue(parameter),
      );
      if (ALWAYS_SET.has(key)) continue;
      if (parameter === undefined || !(parameter.required || parameter.default !== undefined)) optional.push(key);
    }
  }
  const least = new Map([...values].filter(([key]) => !optional.includes(key)));
  const samples: Sample[] = [
    { kind: "least", note: "", values: least, optional },
    { kind: "all", note: optional.join(", "), values, optional },
  ];
  for (const key of inlinedEnums(template.pieces)) {
    const allowed = declared
      .get(key.slice("params.".length))
      ?.validators.find(({ allowedValues }) => allowedValues)?.allowedValues;
    for (const text of allowed?.slice(1) ?? []) {
      const value: ParamValue = { text, type: "VARCHAR", value: text };
      samples.push({ kind: "value", note: `${key} is '${text}'`, values: new Map(values).set(key, value), optional });
    }
  }
  return samples;
}

/** Samples with one optional value each. The `auth` variables are set together. */
export function singleSamples({ values, optional }: Sample): readonly Sample[] {
  const isAuth = (key: string): boolean => authVariables.some((name) => key === `auth.${name}`);
  const groups = [...optional.filter((key) => !isAuth(key)).map((key) => [key]), optional.filter(isAuth)];
  return groups
    .filter((group) => group.length > 0)
    .map((group) => ({
      kind: "some",
      note: group.join(", "),
      values: new Map([...values].filter(([key]) => group.includes(key) || !optional.includes(key))),
      optional,
    }));
}

/** With more optional values, only each value alone and all values but one are checked. */
const MAX_COMBINED_VALUES = 6;

/**
 * Combinations of optional values, except none and all, because a section may need one value without another. There are
 * many, so they are only used for checks without the database.
 */
export function combinedSamples(samples: readonly Sample[]): readonly Sample[] {
  const all = samples.find(({ kind }) => kind === "all");
  if (all === undefined || all.optional.length < 2) return [];
  const { optional, values } = all;
  const sets =
    optional.length <= MAX_COMBINED_VALUES
      ? Array.from({ length: 2 ** optional.length - 2 }, (_, index) =>
          optional.filter((_name, bit) => ((index + 1) >> bit) % 2 === 1),
        )
      : optional.flatMap((name) => [[name], optional.filter((other) => other !== name)]);
  return sets.map((set) => ({
    kind: "some",
    note: set.join(", "),
    values: new Map([...values].filter(([key]) => set.includes(key) || !optional.includes(key))),
    optional,
  }));
}

function firstValue({ validators }: Parameter): ParamValue {
  const allowed = validators.find(({ allowedValues }) => allowedValues !== undefined)?.allowedValues?.[0];
  if (allowed !== undefined) return { text: allowed, type: "VARCHAR", value: allowed };
  const [first] = validators;
  if (first?.type === "uuid") return { text: NIL_UUID, type: "VARCHAR", value: NIL_UUID };
  return sampleValue(first?.databaseType("0") ?? "VARCHAR");
}

function sampleValue(type: SqlType): ParamValue {
  const value = SAMPLE_VALUES[type];
  return { text: String(value), type, value };
}

/** The enum parameters that become part of the SQL. */
function inlinedEnums(pieces: readonly Piece[]): ReadonlySet<string> {
  const found = new Set<string>();
  const addEnumsIn = (parts: readonly LiteralPart[]): void => {
    for (const part of parts) {
      if (part.kind === "value" && part.ref.valueClass === "enum") found.add(`${part.ref.scope}.${part.ref.name}`);
      if (part.kind === "section") addEnumsIn(part.parts);
    }
  };
  for (const piece of pieces) {
    if (piece.kind === "inline") found.add(`${piece.ref.scope}.${piece.ref.name}`);
    if (piece.kind === "identifier" || (piece.kind === "literal" && piece.quoted)) addEnumsIn(piece.parts);
    if (piece.kind === "section") for (const key of inlinedEnums(piece.pieces)) found.add(key);
  }
  return found;
}
