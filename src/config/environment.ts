import { RE2JS } from "re2js";

export type EnvironmentValue =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly message: string };

/** The environment variables that the project may read. */
export interface Environment {
  allows(name: string): boolean;
  lookUp(name: string): EnvironmentValue;
  /** The allowed variables that are set. */
  readonly values: ReadonlyMap<string, string>;
}

export type Pattern = (name: string) => boolean;

/** Compiles a name, or a regular expression that must match the whole name. Undefined if the expression is invalid. */
export function compilePattern(pattern: string): Pattern | undefined {
  if (/^\w+$/.test(pattern)) return (name) => name === pattern;
  try {
    const compiled = RE2JS.compile(pattern);
    return (name) => compiled.matches(name);
  } catch {
    return undefined;
  }
}

export function openEnvironment(
  whitelist: readonly Pattern[],
  env: Readonly<Record<string, string | undefined>>,
): Environment {
  const allows = (name: string) => whitelist.some((matches) => matches(name));
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(env)) if (value !== undefined && allows(name)) values.set(name, value);
  return {
    allows,
    values,
    lookUp(name) {
      const value = values.get(name);
      if (value !== undefined) return { ok: true, value };
      const hint = allows(name) ? "it is not set" : "list it in template.environment-whitelist";
      return { ok: false, message: `Environment variable ${name} not found; ${hint}` };
    },
  };
}
