/**
 * JSON as text. Numbers are never turned into doubles: what is shown are the digits that came. Every function here takes
 * text that `isJson` has accepted, so none of them checks the grammar again.
 */

export function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const SPACE = /[ \t\r\n]*/y;
const SCALAR = /[^,\]}\s]+/y;

function match(pattern, text, at) {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
}

const skipSpace = (text, at) => match(SPACE, text, at);

function stringEnd(text, at) {
  for (let end = text.indexOf('"', at + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
}

/** Where the value that begins at `at` ends. */
export function valueEnd(text, at) {
  const first = text[at];
  if (first === '"') return stringEnd(text, at);
  if (first !== "{" && first !== "[") return match(SCALAR, text, at);
  let depth = 0;
  for (let i = at; ; ) {
    const char = text[i];
    if (char === '"') {
      i = stringEnd(text, i);
      continue;
    }
    if (char === "{" || char === "[") depth += 1;
    else if (char === "}" || char === "]") depth -= 1;
    i += 1;
    if (depth === 0) return i;
  }
}

/** The text of each element of the array that `text` is. */
export function elementsOf(text) {
  const found = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text[at] !== "]") {
    const end = valueEnd(text, at);
    found.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return found;
}

/** Key and text of each member of the object that `text` is, in the order in which they came. */
export function membersOf(text) {
  const found = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text[at] !== "}") {
    const keyEnd = stringEnd(text, at);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    found.push([JSON.parse(text.slice(at, keyEnd)), text.slice(start, end)]);
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return found;
}

/** What a value is, by its first character: "string", "number", "boolean", "null", "object" or "array". */
export function kindOf(text) {
  switch (text[0]) {
    case '"':
      return "string";
    case "{":
      return "object";
    case "[":
      return "array";
    case "t":
    case "f":
      return "boolean";
    case "n":
      return "null";
    default:
      return "number";
  }
}

/** A value as people read it: text without its quotes, everything else as it came. */
export function readable(text) {
  return text[0] === '"' ? JSON.parse(text) : text;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * The same JSON on several lines, as tokens with a kind ("key", "string", "number", "word", "mark"): each keeps its own
 * characters. After about `limit` characters it stops, and the last token is "cut".
 */
export function* indented(text, limit = Number.POSITIVE_INFINITY) {
  const tokens = text.matchAll(TOKEN);
  let depth = 0;
  let length = 0;
  // Just after an opening bracket: whatever comes next begins a line, unless it closes the bracket.
  let opened = false;
  const newLine = () => `\n${"  ".repeat(depth)}`;
  for (let next = tokens.next(); !next.done; ) {
    const token = next.value[0];
    next = tokens.next();
    const opens = token === "{" || token === "[";
    const closes = token === "}" || token === "]";
    if (closes) depth -= 1;
    const breaks = closes ? !opened : opened && token !== "," && token !== ":";
    const before = breaks ? newLine() : "";
    if (before !== "") yield { kind: "mark", text: before };
    if (opens) depth += 1;
    opened = opens;
    const kind = kindOfToken(token, next.value?.[0]);
    const shown = token === "," ? `,${newLine()}` : token === ":" ? ": " : token;
    yield { kind, text: shown };
    length += before.length + shown.length;
    if (length > limit && !next.done) {
      yield { kind: "cut", text: "" };
      return;
    }
  }
}

function kindOfToken(token, following) {
  if ("{}[],:".includes(token)) return "mark";
  if (token[0] === '"') return following === ":" ? "key" : "string";
  return kindOf(token) === "number" ? "number" : "word";
}

/**
 * A document as plain objects without a prototype, so that no name in it means more than itself. A number that would
 * lose digits as a double becomes `{ digits }`.
 */
export function parseExactly(text) {
  let at = 0;

  function parseValue() {
    at = skipSpace(text, at);
    switch (kindOf(text[at])) {
      case "object": {
        const object = Object.create(null);
        eachPart("}", () => {
          const key = parseScalar();
          at = skipSpace(text, at) + 1;
          object[key] = parseValue();
        });
        return object;
      }
      case "array": {
        const array = [];
        eachPart("]", () => array.push(parseValue()));
        return array;
      }
      default:
        return parseScalar();
    }
  }

  function eachPart(closing, parsePart) {
    at = skipSpace(text, at + 1);
    while (text[at] !== closing) {
      parsePart();
      at = skipSpace(text, at);
      if (text[at] === ",") at = skipSpace(text, at + 1);
    }
    at += 1;
  }

  function parseScalar() {
    const source = text.slice(at, valueEnd(text, at));
    at += source.length;
    if (kindOf(source) !== "number") return JSON.parse(source);
    return String(Number(source)) === source ? Number(source) : { digits: source };
  }

  return parseValue();
}
