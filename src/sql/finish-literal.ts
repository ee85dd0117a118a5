import {
  type Compilation,
  emitSql,
  type OpenQuotes,
  type OpenString,
  recordToken,
  recordValue,
} from "./compilation.ts";
import { addInnerText, forgetInnerIfChanged, innerStateHere } from "./inner-sql.ts";
import { quoteIdentifier, quoteLiteral } from "./quote.ts";
import { requiresLiteral } from "./surroundings.ts";
import type { InnerSqlPosition, LiteralPart } from "./template.ts";
import { positionProblem, type ValuePosition } from "./value-place.ts";

const INTERVAL_UNIT =
  /^\s*(?:(?:year|quarter|month|week|day|hour|minute|second|millisecond|microsecond|decade)s?|centur(?:y|ies)|millenni(?:um|a))\b/i;

/** Ends a string literal. It becomes a bound value if it contains client values, and stays unchanged otherwise. */
export function finishString(string: OpenString, following: string, compilation: Compilation): void {
  compilation.seen.push({ text: "'", start: -1, end: -1 });
  if (!string.hasClientValue) {
    if (compilation.calls.at(-1)?.name === "getvariable" && string.isFirstArgument && /^\s*\)/.test(following)) {
      compilation.variables.nameLastUse(plainText(string.parts));
    }
    addInnerText(plainText(string.parts), compilation);
    const source = string.hasTrustedText ? quoteLiteral(plainText(string.parts)) : string.source;
    emitSql(string.typePrefix + source, string.offset - string.typePrefix.length, compilation);
    return;
  }
  const { position, parts } = string;
  recordValues(parts, compilation);
  const allEnums = everyValue(parts, ({ ref }) => ref.valueClass === "enum");
  const marked = position.kind === "sql" ? markInnerPositions(parts, position, compilation) : parts;
  const message = firstPositionProblem(marked, position);
  if (message !== undefined) compilation.problem(string.offset, message);
  else if (position.kind === "file") {
    compilation.warning(
      string.offset,
      "a client value would choose the file or address that is read here; it can only be one of the enum's allowedValues",
    );
  } else if (position.kind === "sql" && !position.wrapped && !everyValue(parts, isHarmless)) {
    compilation.securityWarning(
      string.offset,
      `a client value becomes part of the SQL that ${position.function} runs; write ' || sql_literal('{{{params.x}}}') || ' so that any text is quoted`,
    );
  }
  if (position.kind !== "plain") enforceEnums(parts, compilation);
  const { before, after } = castFor(string.typeName, following);
  compilation.out.push({
    kind: "literal",
    parts: marked,
    before,
    after,
    quoted: requiresLiteral(position, compilation),
    allEnums,
    offset: string.offset,
    sharedKey: undefined,
  });
}

function recordValues(parts: readonly LiteralPart[], compilation: Compilation): void {
  for (const part of parts) {
    if (part.kind === "value") recordValue(part.ref, compilation);
    if (part.kind === "section") recordValues(part.parts, compilation);
  }
}

/** The message about the first value that is not allowed in this literal. */
function firstPositionProblem(parts: readonly LiteralPart[], position: ValuePosition): string | undefined {
  for (const part of parts) {
    if (part.kind === "text") continue;
    if (part.kind === "section") {
      const inner = firstPositionProblem(part.parts, position);
      if (inner !== undefined) return inner;
      continue;
    }
    // Inside quotes of the inner SQL, each request checks that the value cannot close them.
    if (part.innerPosition === "inside-quotes") continue;
    const message = positionProblem("a client value", part.ref.valueClass, position);
    if (message !== undefined) return message;
  }
  return undefined;
}

function isHarmless({ ref }: Extract<LiteralPart, { kind: "value" }>): boolean {
  return ref.valueClass !== "text";
}

/** `DATE '...'` becomes `CAST($n AS DATE)`, `INTERVAL '...' DAY` becomes `INTERVAL ($n) DAY`. */
function castFor(type: string, following: string): { readonly before: string; readonly after: string } {
  if (type === "") return { before: "", after: "" };
  if (type.toUpperCase() === "INTERVAL" && INTERVAL_UNIT.test(following)) return { before: "INTERVAL (", after: ")" };
  return { before: "CAST(", after: ` AS ${type})` };
}

/** Ends a quoted identifier. */
export function finishIdentifier(identifier: OpenQuotes, compilation: Compilation): void {
  const name = identifier.hasClientValue ? "" : plainText(identifier.parts);
  recordToken({ text: `"${name}"`, start: -1, end: -1 }, identifier.offset, compilation);
  if (!identifier.hasClientValue) {
    const source = identifier.hasTrustedText ? quoteIdentifier(name) : identifier.source;
    emitSql(source, identifier.offset, compilation);
    return;
  }
  if (!everyValue(identifier.parts, ({ ref }) => ref.valueClass === "enum")) {
    compilation.problem(
      identifier.offset,
      "a client value would choose the column or table here; give the parameter an enum validator with the allowedValues",
    );
  }
  enforceEnums(identifier.parts, compilation);
  compilation.out.push({ kind: "identifier", parts: identifier.parts, offset: identifier.offset });
}

function enforceEnums(parts: readonly LiteralPart[], { enforcedEnums }: Pick<Compilation, "enforcedEnums">): void {
  for (const part of parts) {
    if (part.kind === "value" && part.ref.scope === "params" && part.ref.valueClass === "enum")
      enforcedEnums.add(part.ref.name);
    if (part.kind === "section") enforceEnums(part.parts, { enforcedEnums });
  }
}

function plainText(parts: readonly LiteralPart[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

function everyValue(
  parts: readonly LiteralPart[],
  holds: (value: Extract<LiteralPart, { kind: "value" }>) => boolean,
): boolean {
  return parts.every((part) => {
    switch (part.kind) {
      case "text":
        return true;
      case "value":
        return holds(part);
      case "section":
        return everyValue(part.parts, holds);
    }
  });
}

/** The position in the inner SQL, which determines how each request checks a value. */
export function innerPositionHere(wrapped: boolean, compilation: Compilation): InnerSqlPosition {
  if (wrapped) return "inside-sql-literal";
  return innerStateHere(compilation) === "'" ? "inside-quotes" : "bare";
}

/** Marks each value with its position in the inner SQL. */
function markInnerPositions(
  parts: readonly LiteralPart[],
  { wrapped }: Extract<ValuePosition, { kind: "sql" }>,
  compilation: Compilation,
): readonly LiteralPart[] {
  const mark = (list: readonly LiteralPart[]): readonly LiteralPart[] =>
    list.map((part): LiteralPart => {
      switch (part.kind) {
        case "text":
          addInnerText(part.text, compilation);
          return part;
        case "value": {
          return isHarmless(part) ? part : { ...part, innerPosition: innerPositionHere(wrapped, compilation) };
        }
        case "section": {
          const before = innerStateHere(compilation);
          const marked = mark(part.parts);
          forgetInnerIfChanged(before, compilation);
          return { ...part, parts: marked };
        }
      }
    });
  return mark(parts);
}
