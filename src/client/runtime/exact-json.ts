import type { Numbers } from "./call.ts";

/** Like `JSON.parse`, but parses numbers as `numbers` specifies, so that they can keep all their digits. */
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

  /** Skips spaces, then this character if it comes next. Returns whether it did. */
  function accept(character: string): boolean {
    match(SPACE);
    const found = text[at] === character;
    if (found) at += 1;
    return found;
  }

  function parseString(): string {
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

  function parseArray(how: Numbers): unknown[] {
    const items: unknown[] = [];
    if (accept("]")) return items;
    do items.push(parseValue(how));
    while (accept(","));
    return accept("]") ? items : fail();
  }

  function parseObject(how: Numbers): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    if (accept("}")) return {};
    do {
      match(SPACE);
      const key = text[at] === '"' ? parseString() : fail();
      entries.push([key, accept(":") ? parseValue(numbersAt(key, how)) : fail()]);
    } while (accept(","));
    // Assignment would fail for a column named `__proto__`.
    return accept("}") ? Object.fromEntries(entries) : fail();
  }

  function parseValue(how: Numbers): unknown {
    if (accept("{")) return parseObject(how);
    if (accept("[")) return parseArray(how);
    if (text[at] === '"') return parseString();
    const number = match(NUMBER);
    return number === undefined ? JSON.parse(match(WORD) ?? fail()) : convertNumber(number, how);
  }

  const result = parseValue(numbers);
  match(SPACE);
  return at === text.length ? result : fail();
}

/** How the numbers in the value of a key are parsed. */
function numbersAt(key: string, how: Numbers): Numbers {
  if (typeof how === "string") return how;
  if ("each" in how) return how.each;
  return (Object.hasOwn(how.fields, key) ? how.fields[key] : undefined) ?? "number";
}

function convertNumber(digits: string, how: Numbers): unknown {
  if (how === "bigint") return BigInt(digits);
  if (how === "text") return digits;
  const number = Number(digits);
  // A double cannot represent it exactly.
  const isWide = /^-?\d+$/.test(digits) && !Number.isSafeInteger(number);
  if (how === "json" && isWide) return BigInt(digits);
  return how === "json-text" && isWide ? digits : number;
}
