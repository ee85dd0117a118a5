/**
 * Functions for JSON text. Numbers are never converted to doubles, so they keep all digits. The text must be valid according to
 * `isJson`: the functions do not check it again.
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

/** The end of the value that starts at `at`. */
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

/** The text of each element of an array. */
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

/** The key and the text of each member of an object, in order. */
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

/** The kind of a value, by its first character. */
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

/** A value as users see it: a string without quotes, anything else unchanged. */
export function readable(text) {
  return text[0] === '"' ? JSON.parse(text) : text;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * Formats JSON on several lines, as tokens of the kinds "key", "string", "number", "word" and "mark". After about `limit`
 * characters, it stops with a token of the kind "cut".
 */
export function* indentedTokens(text, limit = Number.POSITIVE_INFINITY) {
  const tokens = text.matchAll(TOKEN);
  let depth = 0;
  let length = 0;
  // The token after an opening bracket starts a line, unless it closes the bracket.
  let isAfterBracket = false;
  const newLine = () => `\n${"  ".repeat(depth)}`;
  for (let next = tokens.next(); !next.done; ) {
    const token = next.value[0];
    next = tokens.next();
    const isOpening = token === "{" || token === "[";
    const isClosing = token === "}" || token === "]";
    if (isClosing) depth -= 1;
    const startsLine = isClosing ? !isAfterBracket : isAfterBracket && token !== "," && token !== ":";
    const before = startsLine ? newLine() : "";
    if (before !== "") yield { kind: "mark", text: before };
    if (isOpening) depth += 1;
    isAfterBracket = isOpening;
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
 * Parses a document to objects without a prototype, so that names like `constructor` have no meaning. A number that would lose
 * digits as a double becomes `{ digits }`.
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
