import { type Compilation, emitSql, type OpenQuotes, type OpenString } from "./compilation.ts";
import type { Remote } from "./surroundings.ts";
import type { LiteralPart, RemotePlace } from "./template.ts";

const INTERVAL_UNIT =
  /^\s*(?:(?:year|quarter|month|week|day|hour|minute|second|millisecond|microsecond|decade)s?|centur(?:y|ies)|millenni(?:um|a))\b/i;

/** A string literal is complete: the author's own text stays as it is, one with client values becomes a bound value. */
export function finishString(string: OpenString, following: string, compilation: Compilation): void {
  compilation.seen.push({ text: "'", start: -1, end: -1 });
  if (!string.client) {
    const source = string.trusted ? `'${plainText(string.parts).replaceAll("'", "''")}'` : string.source;
    emitSql(string.typePrefix + source, string.offset - string.typePrefix.length, compilation);
    return;
  }
  const allEnums = everyValue(string.parts, ({ ref }) => ref.traits === "enum");
  if (string.choosesFile) {
    const message = "a client value would choose the file or address that is read here";
    if (allEnums) compilation.warning(string.offset, `${message}; it can only be one of the enum's allowedValues`);
    else compilation.problem(string.offset, `${message}; give the parameter an enum validator with the allowedValues`);
  }
  if (string.choosesFile || string.remote !== undefined) relyOnLists(string.parts, compilation);
  const parts = string.remote === undefined ? string.parts : markRemote(string.parts, string.remote);
  if (string.remote?.wrapped === false && !everyValue(string.parts, isHarmless)) {
    compilation.warning(
      string.offset,
      "a client value becomes part of SQL for another database; write ' || sql_literal('{{{params.x}}}') || ' so that any text is quoted for it",
    );
  }
  const { before, after } = cast(string.typeName, following);
  compilation.out.push({
    kind: "literal",
    parts,
    before,
    after,
    quoted: string.choosesFile && !insideCall(compilation),
    allEnums,
    offset: string.offset,
  });
}

/** `FROM '...'` wants a literal; an argument of a function takes a parameter. */
function insideCall(compilation: Compilation): boolean {
  return compilation.calls.some(({ name }) => compilation.dialect.readsFiles(name));
}

function isHarmless({ ref }: Extract<LiteralPart, { kind: "value" }>): boolean {
  return ref.traits !== "text";
}

/** `DATE '...'` becomes `CAST($n AS DATE)`, `INTERVAL '...' DAY` becomes `INTERVAL ($n) DAY`. */
function cast(type: string, following: string): { readonly before: string; readonly after: string } {
  if (type === "") return { before: "", after: "" };
  if (type.toUpperCase() === "INTERVAL" && INTERVAL_UNIT.test(following)) return { before: "INTERVAL (", after: ")" };
  return { before: "CAST(", after: ` AS ${type})` };
}

/** `"..."` is complete. */
export function finishIdentifier(identifier: OpenQuotes, compilation: Compilation): void {
  const name = identifier.client ? "" : plainText(identifier.parts);
  compilation.seen.push({ text: `"${name}"`, start: -1, end: -1 });
  if (!identifier.client) {
    const source = identifier.trusted ? `"${name.replaceAll('"', '""')}"` : identifier.source;
    emitSql(source, identifier.offset, compilation);
    return;
  }
  if (!everyValue(identifier.parts, ({ ref }) => ref.traits === "enum")) {
    compilation.problem(
      identifier.offset,
      "a client value would choose the column or table here; give the parameter an enum validator with the allowedValues",
    );
  }
  relyOnLists(identifier.parts, compilation);
  compilation.out.push({ kind: "identifier", parts: identifier.parts, offset: identifier.offset });
}

function relyOnLists(parts: readonly LiteralPart[], { listsRelied }: Pick<Compilation, "listsRelied">): void {
  for (const part of parts) {
    if (part.kind === "value" && part.ref.scope === "params" && part.ref.traits === "enum")
      listsRelied.add(part.ref.name);
    if (part.kind === "section") relyOnLists(part.parts, { listsRelied });
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

/** Tells for each value whether it stands inside quotes of the inner SQL. */
function markRemote(parts: readonly LiteralPart[], { quoting, wrapped }: Remote): readonly LiteralPart[] {
  let inside = false;
  const mark = (list: readonly LiteralPart[]): readonly LiteralPart[] =>
    list.map((part): LiteralPart => {
      switch (part.kind) {
        case "text":
          for (const character of part.text) if (character === "'") inside = !inside;
          return part;
        case "value": {
          const quotes = inside || quoting === "name" ? "inside-quotes" : "bare";
          const remote: RemotePlace = wrapped ? "quoted-for-it" : quotes;
          return isHarmless(part) ? part : { ...part, remote };
        }
        case "section": {
          const before = inside;
          const marked = mark(part.parts);
          // Quotes that only one branch opens leave the place unknown: then it counts as bare.
          if (inside !== before) inside = false;
          return { ...part, parts: marked };
        }
      }
    });
  return mark(parts);
}
