/** One member of a header like `Accept`. */
export interface WeightedMember {
  /** In lower case. */
  readonly value: string;
  /** The weight, from 0 to 1. 1 if it is absent or invalid. */
  readonly q: number;
  /** All parameters except `q`, by name in lower case. Their values are as sent. */
  readonly parameters: ReadonlyMap<string, string>;
}

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map();
/** More lenient than HTTP: some clients send `.2`, or more than three decimals. */
const WEIGHT = /^(?:[01](?:\.\d*)?|\.\d+)$/;

/** The members of a list with weights (RFC 9110, 12.4), in order. Takes linear time and skips what it cannot parse. */
export function parseWeightedList(header: string): readonly WeightedMember[] {
  const members: WeightedMember[] = [];
  for (const member of splitOutsideQuotes(header, ",")) {
    const [value = "", ...parameters] = splitOutsideQuotes(member, ";");
    const name = value.trim().toLowerCase();
    if (name !== "") members.push(parseMember(name, parameters));
  }
  return members;
}

function parseMember(value: string, rawParameters: readonly string[]): WeightedMember {
  let q = 1;
  let parameters: Map<string, string> | undefined;
  for (const text of rawParameters) {
    const equals = text.indexOf("=");
    if (equals === -1) continue;
    const name = text.slice(0, equals).trim().toLowerCase();
    const parameterValue = unquote(text.slice(equals + 1).trim());
    if (name === "q") q = weightOf(parameterValue);
    else {
      parameters ??= new Map();
      if (!parameters.has(name)) parameters.set(name, parameterValue);
    }
  }
  return { value, q, parameters: parameters ?? NO_PARAMETERS };
}

function weightOf(text: string): number {
  return WEIGHT.test(text) ? Math.min(Number(text), 1) : 1;
}

function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  const inside = text.length > 1 && text.endsWith('"') ? text.slice(1, -1) : text.slice(1);
  return inside.replace(/\\(.)/g, "$1");
}

/** Splits at separators that are not inside a quoted string. An unterminated string extends to the end. */
function splitOutsideQuotes(text: string, separator: string): readonly string[] {
  if (!text.includes('"')) return text.split(separator);
  const parts: string[] = [];
  let from = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isQuoted && character === "\\") at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(text.slice(from));
  return parts;
}
