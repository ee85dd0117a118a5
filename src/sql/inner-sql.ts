import type { Compilation, InnerState, OpenCall } from "./compilation.ts";
import type { RemoteQuoting } from "./function-role.ts";

/** The innermost call around this position that takes SQL, how its database quotes, and the call's index. */
export function sqlCallAround({
  calls,
  dialect,
}: Compilation): { call: OpenCall; quoting: RemoteQuoting; at: number } | undefined {
  for (let at = calls.length - 1; at >= 0; at--) {
    const call = calls[at];
    const role = call && dialect.roleOf(call.name);
    if (call !== undefined && role?.kind === "sql") return { call, quoting: role.quoting, at };
  }
  return undefined;
}

export function innerStateHere(compilation: Compilation): InnerState {
  return sqlCallAround(compilation)?.call.inner ?? "unknown";
}

/** Adds a literal to the inner SQL: `'SELECT ''' || ...`. Another function around the literal may change it in any way. */
export function addInnerText(text: string, compilation: Compilation): void {
  const found = sqlCallAround(compilation);
  if (found === undefined) return;
  const { call, quoting, at } = found;
  const isDirect = compilation.calls.slice(at + 1).every(({ name }) => name === "");
  if (isDirect) call.inner = innerStateAfter(text, call.inner, quoting);
  else if (/['"`$\\]|--|\/\*/.test(text)) call.inner = "unknown";
}

/** After a section that may be left out: if it changed the state, the state is unknown. */
export function forgetInnerIfChanged(before: InnerState, compilation: Compilation): void {
  const found = sqlCallAround(compilation);
  if (found !== undefined && found.call.inner !== before) found.call.inner = "unknown";
}

function innerStateAfter(text: string, from: InnerState, quoting: RemoteQuoting): InnerState {
  let state = from;
  for (let at = 0; at < text.length && state !== "unknown"; at++) {
    const character = text[at];
    const pair = text.slice(at, at + 2);
    if (state === "bare") {
      if (character === "'" || character === '"') state = character;
      else if (pair === "--" || pair === "/*") state = pair;
      else if (character === "$" || character === "`") state = "unknown";
    } else if (state === "--") {
      if (character === "\n") state = "bare";
    } else if (state === "/*") {
      if (pair === "*/") state = "bare";
    } else if (character === "\\" && quoting !== "standard") at++;
    else if (character === state) state = "bare";
  }
  return state;
}
