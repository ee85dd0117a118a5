import { RE2JS } from "re2js";
import { matchOnThread } from "./regex-thread.ts";

/** A compiled pattern. Matches whole values only, in linear time. */
interface Regex {
  matches(text: string): boolean;
  /** On another thread, for a long string. */
  matchesLong(text: string): Promise<boolean>;
}

/** Features that require backtracking. */
const UNSUPPORTED: readonly (readonly [RegExp, string])[] = [
  [/\(\?<?[=!]/, "lookahead and lookbehind are"],
  [/\\[1-9]|\\k<|\(\?P=/, "a backreference is"],
  [/\(\?>|[*+?}]\+/, "an atomic group or possessive quantifier is"],
];

/** Returns the compiled pattern, or an error message. */
export function compileRegex(source: string): Regex | string {
  const compiled = compileRe2(source);
  if (typeof compiled !== "string") return compiled;
  // Translates escapes that JavaScript and C++ know but RE2 does not, such as \u00e9.
  const translated = compileRe2(RE2JS.translateRegExp(source));
  return typeof translated === "string" ? explain(source, compiled) : translated;
}

/** The pattern for JSON Schema: ECMA-262, not anchored by default. Undefined if it cannot be converted. */
export function jsonSchemaPattern(source: string): string | undefined {
  const anchored = /^\^[^|]*[^|\\]\$$/.test(source) ? source : `^(?:${source})$`;
  try {
    new RegExp(anchored, "u");
    return anchored;
  } catch {
    return undefined;
  }
}

function compileRe2(source: string): Regex | string {
  try {
    const compiled = RE2JS.compile(source);
    return { matches: (text) => compiled.testExact(text), matchesLong: (text) => matchOnThread(source, text) };
  } catch (error) {
    return error instanceof Error ? error.message.replace("error parsing regexp: ", "") : String(error);
  }
}

function explain(source: string, message: string): string {
  const known = UNSUPPORTED.find(([shape]) => shape.test(source));
  if (known === undefined) return `bad regular expression: ${message}`;
  return `bad regular expression: ${known[1]} not supported, since patterns run in linear time (RE2 syntax): ${message}`;
}
