import { headerName, type Parameter, type RawValue } from "../../params/parameter.ts";
import { decodePercent, encodeByte } from "./percent.ts";
import { asText, NO_VALUES } from "./read-values.ts";

/** Headers as Node parses them: names in lower case, repeated ones joined, one character per byte. */
type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** The headers that the endpoint's parameters name; computed at load. */
export function headersOf(declared: readonly Parameter[]): readonly string[] {
  return declared.filter((parameter) => parameter.in === "header").map(({ name }) => headerName(name));
}

/** Reads only the `wanted` headers. Most endpoints want none. */
export function readHeaders(headers: IncomingHeaders, wanted: readonly string[]): ReadonlyMap<string, RawValue> {
  if (wanted.length === 0) return NO_VALUES;
  const values = new Map<string, RawValue>();
  for (const name of wanted) {
    const text = headerValue(headers, name);
    if (text !== undefined) values.set(name, asText(decodeHeader(text)));
  }
  return values;
}

/** A header as sent. Undefined when it is absent, which differs from empty. */
export function headerValue(headers: IncomingHeaders, name: string): string | undefined {
  // A header may be named `constructor`.
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return typeof value === "string" ? value : value?.join(", ");
}

/** UTF-8 if the bytes are valid UTF-8, otherwise Latin-1, the former default of HTTP. */
function decodeHeader(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  return decodePercent(text.replace(/[%\u0080-\u00ff]/g, encodeByte)) ?? text;
}
