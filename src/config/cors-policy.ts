import { type CorsPolicy, TOKEN } from "../http/cors.ts";
import type { MainInput } from "./schema/main.ts";

/** The `cors` block of the configuration file. */
export type CorsInput = Omit<NonNullable<MainInput["cors"]>, "enabled">;

export interface CorsProblem {
  readonly key: "allow-origins" | "allow-headers" | "allow-methods";
  /** The index in the list. Undefined for a problem with the key itself. */
  readonly index: number | undefined;
  readonly message: string;
}

const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** The policy of an enabled block, or all its problems. */
export function corsPolicyOf(
  input: CorsInput,
): { readonly policy: CorsPolicy } | { readonly problems: readonly CorsProblem[] } {
  const origins = readList(input, "allow-origins", parseOrigin);
  const headers = readList(input, "allow-headers", parseHeader);
  const methods = readList(input, "allow-methods", parseMethod);
  const credentials = input["allow-credentials"];
  const problems = [...origins.problems, ...headers.problems, ...methods.problems];
  const anyOrigin = input["allow-origins"]?.indexOf("*") ?? -1;
  if (origins.values.length === 0 && origins.problems.length === 0) {
    const message = "expected the origins whose pages may call, https://app.example.com, or '*' for any";
    problems.push({ key: "allow-origins", index: undefined, message });
  }
  if (credentials && anyOrigin >= 0) {
    const message = "'*' does not go with allow-credentials, browsers refuse it; list the origins";
    problems.push({ key: "allow-origins", index: anyOrigin, message });
  }
  if (problems.length > 0) return { problems };
  return {
    policy: {
      origins: anyOrigin >= 0 ? "any" : origins.values,
      headers: input["allow-headers"] === undefined || headers.values.includes("*") ? "any" : headers.values,
      methods: input["allow-methods"] === undefined || methods.values.includes("*") ? METHODS : methods.values,
      credentials,
      maxAgeSeconds: input["max-age"],
    },
  };
}

type ParseResult = { readonly value: string } | { readonly message: string };

/** Parses the entries, without duplicates. */
function readList(
  input: CorsInput,
  key: CorsProblem["key"],
  parse: (text: string) => ParseResult,
): { readonly values: readonly string[]; readonly problems: readonly CorsProblem[] } {
  const values = new Set<string>();
  const problems: CorsProblem[] = [];
  for (const [index, text] of (input[key] ?? []).entries()) {
    const parsed = parse(text);
    if ("value" in parsed) values.add(parsed.value);
    else problems.push({ key, index, message: parsed.message });
  }
  return { values: [...values], problems };
}

const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/(\*\.)?([^*/?#@\\\s]+)$/i;

/** Normalizes an origin as browsers do: lower case, ASCII, without the default port. */
function parseOrigin(text: string): ParseResult {
  if (text === "*" || text === "null") return { value: text };
  const rejection = {
    message: `expected an origin, https://app.example.com or https://*.example.com, without a path, found '${text}'`,
  };
  const [, scheme = "", star = "", host = ""] = ORIGIN.exec(text) ?? [];
  const label = star === "" ? "" : "a.";
  if (host === "" || !URL.canParse(`${scheme}://${label}${host}`)) return rejection;
  const { protocol, host: canonical } = new URL(`${scheme}://${label}${host}`);
  if (canonical === "" || protocol === "file:") return rejection;
  return { value: `${protocol}//${star}${canonical.slice(label.length)}` };
}

function parseHeader(text: string): ParseResult {
  return TOKEN.test(text) ? { value: text } : { message: `expected the name of a header or '*', found '${text}'` };
}

function parseMethod(text: string): ParseResult {
  const value = text.toUpperCase();
  if (value === "*" || METHODS.includes(value)) return { value };
  return { message: `expected one of ${METHODS.join(", ")} or '*', found '${text}'` };
}
