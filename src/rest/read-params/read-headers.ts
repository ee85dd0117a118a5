import { headerName, type Parameter, type RawValue } from "../../params/parameter.ts";
import { decodePercent, encodeByte } from "./percent.ts";
import { asText, NO_VALUES } from "./read-values.ts";

/** Headers as Node has them: names in lower case, repeated ones joined, one character for each byte. */
type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** The headers that the endpoint's parameters name; computed at load. */
export function headersOf(declared: readonly Parameter[]): readonly string[] {
  return declared.filter((parameter) => parameter.in === "header").map(({ name }) => headerName(name));
}

/** Only the headers that are wanted: most endpoints want none. Spec 2.2. */
export function readHeaders(headers: IncomingHeaders, wanted: readonly string[]): ReadonlyMap<string, RawValue> {
  if (wanted.length === 0) return NO_VALUES;
  const values = new Map<string, RawValue>();
  for (const name of wanted) {
    const text = headerValue(headers, name);
    if (text !== undefined) values.set(name, asText(decodeHeader(text)));
  }
  return values;
}

/** A header as it was sent. Undefined when it is absent, which is not the same as empty. */
export function headerValue(headers: IncomingHeaders, name: string): string | undefined {
  // A field may be called `constructor`.
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return typeof value === "string" ? value : value?.join(", ");
}

/** UTF-8 where the bytes are UTF-8; else Latin-1, as HTTP once had it. */
function decodeHeader(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  return decodePercent(text.replace(/[%\u0080-\u00ff]/g, encodeByte)) ?? text;
}
