import { type Compilation, lastCharacterIsWord } from "./compilation.ts";
import { choosesFile, remoteAround } from "./surroundings.ts";
import type { ClientRef } from "./template.ts";

/** Puts a client value where it stands. Spec 2.10, decisions 4. */
export function placeTag(ref: ClientRef, offset: number, touchesNext: boolean, compilation: Compilation): void {
  const quotes = compilation.string ?? compilation.identifier;
  if (quotes !== undefined) {
    quotes.parts.push({ kind: "value", ref, remote: undefined });
    quotes.client = true;
    return;
  }
  const name = `${ref.scope}.${ref.name}`;
  const last = compilation.out.at(-1);
  const touches = touchesNext || lastCharacterIsWord(compilation);
  const choosesArgument =
    compilation.calls.some((call) => compilation.dialect.readsFiles(call.name)) && choosesFile(compilation);
  compilation.seen.push({ text: "{{}}", start: -1, end: -1 });
  if (ref.traits === "enum") {
    if (choosesArgument && ref.scope === "params") {
      compilation.warning(
        offset,
        `{{${name}}} chooses what is read here; it can only be one of the enum's allowedValues`,
      );
    }
    if (ref.scope === "params") compilation.listsRelied.add(ref.name);
    compilation.out.push({ kind: "inline", ref, offset });
    return;
  }
  if (touches) {
    if (ref.traits === "scalar") {
      compilation.out.push({ kind: "glued", ref, offset });
      return;
    }
    compilation.problem(
      offset,
      `{{${name}}} touches a word, so it would choose a name; give the parameter an enum validator with the allowedValues`,
    );
    return;
  }
  if (choosesArgument) {
    compilation.problem(
      offset,
      `{{${name}}} would choose the file or address that is read here; give the parameter an enum validator with the allowedValues`,
    );
  }
  if (ref.traits === "scalar" && compilation.afterBy) compilation.scalarAfterBy = true;
  const remote = ref.traits === "text" ? remoteAround(compilation) : undefined;
  if (remote?.wrapped === false) {
    compilation.warning(
      offset,
      `{{${name}}} becomes part of SQL for another database; write sql_literal({{${name}}}) so that any text is quoted for it`,
    );
  }
  // Two values side by side must not grow together.
  if (last !== undefined && last.kind !== "sql" && last.kind !== "separator") {
    compilation.out.push({ kind: "sql", text: " ", offset, blank: true });
  }
  const place = remote?.wrapped ? "quoted-for-it" : "inside-quotes";
  compilation.out.push({ kind: "value", ref, offset, remote: remote && place });
}
