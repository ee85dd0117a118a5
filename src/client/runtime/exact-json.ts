import type { Numbers } from "./call.ts";

/** Like `JSON.parse`, but parses numbers as specified by `numbers`, with all their digits. */
export function parseExact(text: string, numbers: Numbers | undefined): unknown {
  if (numbers === undefined) return JSON.parse(text);
  const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  const WORD = /true|false|null/y;
  const SPACE = /[ \t\r\n]*/y;
  let at = 0;

  function fail(): never {
    throw new SyntaxError(`unexpected JSON at ${at}`);
  }

  function match(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  }

  /** Skips this character if it comes next, and returns whether it did. */
  function takes(character: string): boolean {
    match(SPACE);
    const found = text[at] === character;
    if (found) at += 1;
    return found;
  }

  function string(): string {
    const start = at;
    for (;;) {
      at = text.indexOf('"', at + 1);
      if (at < 0) fail();
      let before = at;
      while (text[before - 1] === "\\") before -= 1;
      if ((at - before) % 2 === 0) break;
    }
    at += 1;
    return String(JSON.parse(text.slice(start, at)));
  }

  function list(how: Numbers): unknown[] {
    const items: unknown[] = [];
    if (takes("]")) return items;
    do items.push(value(how));
    while (takes(","));
    return takes("]") ? items : fail();
  }

  function object(how: Numbers): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    if (takes("}")) return {};
    do {
      match(SPACE);
      const key = text[at] === '"' ? string() : fail();
      entries.push([key, takes(":") ? value(below(how, key)) : fail()]);
    } while (takes(","));
    // Assignment would fail for a column named `__proto__`.
    return takes("}") ? Object.fromEntries(entries) : fail();
  }

  function value(how: Numbers): unknown {
    if (takes("{")) return object(how);
    if (takes("[")) return list(how);
    if (text[at] === '"') return string();
    const number = match(NUMBER);
    return number === undefined ? JSON.parse(match(WORD) ?? fail()) : numberOf(number, how);
  }

  const whole = value(numbers);
  match(SPACE);
  return at === text.length ? whole : fail();
}

/** How the numbers below a key are parsed. */
function below(how: Numbers, key: string): Numbers {
  if (typeof how === "string") return how;
  if ("each" in how) return how.each;
  return (Object.hasOwn(how.fields, key) ? how.fields[key] : undefined) ?? "number";
}

function numberOf(digits: string, how: Numbers): unknown {
  if (how === "bigint") return BigInt(digits);
  if (how === "text") return digits;
  const number = Number(digits);
  // Integers that a double cannot represent exactly.
  const isWide = /^-?\d+$/.test(digits) && !Number.isSafeInteger(number);
  if (how === "json" && isWide) return BigInt(digits);
  return how === "json-text" && isWide ? digits : number;
}
