import { type Compilation, endsWithWordCharacter, recordValue } from "./compilation.ts";
import { innerPositionHere } from "./finish-literal.ts";
import { innerStateHere } from "./inner-sql.ts";
import { positionOf, requiresLiteral } from "./surroundings.ts";
import type { CallValueRef } from "./template.ts";
import { positionProblem } from "./value-place.ts";

/** Compiles a tag with a client value. */
export function placeTag(ref: CallValueRef, offset: number, touchesNext: boolean, compilation: Compilation): void {
  const quotes = compilation.string ?? compilation.identifier;
  if (quotes !== undefined) {
    quotes.parts.push({ kind: "value", ref, innerPosition: undefined });
    quotes.hasClientValue = true;
    return;
  }
  recordValue(ref, compilation);
  const name = `${ref.scope}.${ref.name}`;
  const last = compilation.out.at(-1);
  const touches = touchesNext || endsWithWordCharacter(compilation);
  const position = positionOf(compilation);
  // A bare word after FROM is the name of a table, not of a file.
  const isArgument = position.kind !== "file" || !requiresLiteral(position, compilation) || compilation.isCopyTarget;
  compilation.seen.push({ text: "{{}}", start: -1, end: -1 });
  if (ref.valueClass === "enum") {
    if (position.kind === "file" && isArgument && ref.scope === "params") {
      compilation.warning(
        offset,
        `{{${name}}} chooses what is read here; it can only be one of the enum's allowedValues`,
      );
    }
    const canBind = !touches && ref.scope === "params";
    if (ref.scope === "params") (canBind ? compilation.bareEnums : compilation.enforcedEnums).add(ref.name);
    if (ref.scope === "params" && position.kind !== "plain") compilation.enforcedEnums.add(ref.name);
    compilation.out.push({ kind: "inline", ref, offset, canBind });
    return;
  }
  if (touches) {
    if (ref.valueClass === "scalar") {
      compilation.out.push({ kind: "word-part", ref, offset });
      return;
    }
    compilation.problem(
      offset,
      `{{${name}}} touches a word, so it would choose a name; give the parameter an enum validator with the allowedValues`,
    );
    return;
  }
  // Inside quotes of the inner SQL, each request checks that the value cannot close them.
  const staysText = position.kind === "sql" && innerStateHere(compilation) === "'";
  const message = isArgument && !staysText ? positionProblem(`{{${name}}}`, ref.valueClass, position) : undefined;
  if (message !== undefined) compilation.problem(offset, message);
  const sql = ref.valueClass === "text" && position.kind === "sql" ? position : undefined;
  if (sql?.wrapped === false && message === undefined) {
    compilation.securityWarning(
      offset,
      `{{${name}}} becomes part of the SQL that ${sql.function} runs; write sql_literal({{${name}}}) so that any text is quoted`,
    );
  }
  // Adjacent values must not merge into one token.
  if (last !== undefined && last.kind !== "sql" && last.kind !== "separator") {
    compilation.out.push({ kind: "sql", text: " ", offset, blank: true });
  }
  compilation.out.push({
    kind: "value",
    ref,
    offset,
    innerPosition: sql && innerPositionHere(sql.wrapped, compilation),
    sharedKey: undefined,
  });
}
