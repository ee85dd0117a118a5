import type { CallValueRef, ValueClass, ValueType } from "./template.ts";

/** The variables of `auth`. */
export const authVariables = ["username", "email", "roles", "type", "authenticated", "groups"] as const;

/** The names that a template may use, known when it is compiled. */
export interface TemplateScope {
  readonly params: ReadonlyMap<string, ValueClass>;
  /** The types of parameters that are not bound as VARCHAR. */
  readonly types?: ReadonlyMap<string, ValueType>;
  /** Properties of the first connection. */
  readonly conn: ReadonlyMap<string, string>;
  readonly connectionName: string | undefined;
  /** Variables of `cache` that are known at load. */
  readonly cache: ReadonlyMap<string, string>;
  /** Variables of `cache` that depend on the snapshot. An `enum` is a name that Eider chooses, so it may be inlined. */
  readonly snapshotVariables?: ReadonlyMap<string, ValueClass>;
  /** A refresh runs outside a request: it has no `params` and no `auth`. */
  readonly isRefresh?: boolean;
  readonly environment: (name: string) => { readonly value: string } | "unlisted" | "unset";
}

/** What a name in a template refers to. */
export type ResolvedName =
  | { readonly kind: "client"; readonly ref: CallValueRef }
  /** Configuration, known at load. */
  | { readonly kind: "trusted"; readonly text: string }
  /** A trusted name without a value: false as a section, a problem as a tag. */
  | { readonly kind: "unset"; readonly message: string }
  /** A client value that this template never has. Its sections are never rendered: `sectionWarning` is the warning for them. */
  | { readonly kind: "never-set"; readonly message: string; readonly sectionWarning: string }
  | { readonly kind: "unknown"; readonly message: string };

export function resolveName(name: string, scope: TemplateScope): ResolvedName {
  const dot = name.indexOf(".");
  const root = dot < 0 ? name : name.slice(0, dot);
  const rest = dot < 0 ? "" : name.slice(dot + 1);
  if (scope.isRefresh === true && rest !== "" && (root === "params" || root === "auth")) {
    const message = `'${name}': params and auth are unavailable in a refresh; use cache., conn. or env.`;
    const sectionWarning = `'${name}' is never set in a refresh, which no request runs; remove the section`;
    return { kind: "never-set", message, sectionWarning };
  }
  if (rest !== "") {
    switch (root) {
      case "params":
        return resolveParameter(rest, scope);
      case "auth":
        return resolveAuth(rest);
      case "conn":
        return resolveConnection(rest, scope);
      case "cache":
        return resolveCache(rest, scope);
      case "env":
        return resolveEnvironment(rest, scope);
    }
  }
  return { kind: "unknown", message: unknownNameMessage(name, root, rest, scope) };
}

function resolveParameter(name: string, scope: TemplateScope): ResolvedName {
  const valueClass = scope.params.get(name);
  if (valueClass !== undefined)
    return { kind: "client", ref: { scope: "params", name, valueClass, type: scope.types?.get(name) ?? "VARCHAR" } };
  const known = [...scope.params.keys()].map((key) => `params.${key}`).join(", ");
  const message = `params.${name} is not declared under request (declared: ${known || "none"})`;
  return { kind: "never-set", message, sectionWarning: `${message}, so it is never set here` };
}

const TEXT = { valueClass: "text", type: "VARCHAR" } as const;

function resolveAuth(name: string): ResolvedName {
  if (!authVariables.some((known) => known === name)) {
    const known = authVariables.map((variable) => `auth.${variable}`).join(", ");
    return { kind: "unknown", message: `unknown variable 'auth.${name}'; there are ${known}` };
  }
  const kind = name === "authenticated" ? ({ valueClass: "scalar", type: "BOOLEAN" } as const) : TEXT;
  return { kind: "client", ref: { scope: "auth", name, ...kind } };
}

function resolveConnection(name: string, scope: TemplateScope): ResolvedName {
  const text = scope.conn.get(name);
  if (text !== undefined) return { kind: "trusted", text };
  const known = [...scope.conn.keys()].map((key) => `conn.${key}`).join(", ") || "none";
  const where =
    scope.connectionName === undefined ? "there is no connection" : `properties of '${scope.connectionName}': ${known}`;
  return { kind: "unset", message: `unknown variable 'conn.${name}'; ${where}` };
}

function resolveCache(name: string, scope: TemplateScope): ResolvedName {
  const text = scope.cache.get(name);
  if (text !== undefined) return { kind: "trusted", text };
  const valueClass = scope.snapshotVariables?.get(name);
  if (valueClass !== undefined) {
    return {
      kind: "client",
      ref: { scope: "cache", name, valueClass, type: valueClass === "scalar" ? "BIGINT" : "VARCHAR" },
    };
  }
  const known = [...scope.cache.keys(), ...(scope.snapshotVariables?.keys() ?? [])]
    .map((key) => `cache.${key}`)
    .join(", ");
  return {
    kind: "unset",
    message: `unknown variable 'cache.${name}'; ${known === "" ? "the endpoint has no cache block" : `there are ${known}`}`,
  };
}

function resolveEnvironment(name: string, scope: TemplateScope): ResolvedName {
  const found = scope.environment(name);
  if (found === "unlisted") {
    const message = `Environment variable ${name} not found; it is not listed in template.environment-whitelist`;
    return { kind: "unknown", message };
  }
  if (found === "unset") return { kind: "unset", message: `Environment variable ${name} not found; it is not set` };
  return { kind: "trusted", text: found.value };
}

/** A hint for authors who expect Handlebars. Undefined for other names. */
export function handlebarsHint(name: string): string | undefined {
  const [word = "", ...rest] = name.split(/\s+/);
  if (name === "else") {
    return "'{{else}}' is Handlebars, templates are Mustache; write a second, inverted section {{^name}}...{{/name}}";
  }
  if (!["if", "unless", "each", "with"].includes(word) || rest.length === 0) return undefined;
  const inner = rest.join(" ");
  const section = word === "unless" ? `{{^${inner}}}...{{/${inner}}}` : `{{#${inner}}}...{{/${inner}}}`;
  return `'{{#${word}}}' is Handlebars, templates are Mustache; write ${section}`;
}

function unknownNameMessage(name: string, root: string, rest: string, scope: TemplateScope): string {
  const hint = handlebarsHint(name);
  if (hint !== undefined) return hint;
  if (root === "request" && rest !== "") return `unknown variable '${name}'; write params.${rest}`;
  if (scope.params.has(name)) return `unknown variable '${name}'; write params.${name}`;
  if (name === ".") return "'{{.}}' has no meaning here; write the whole name, for example {{params.id}}";
  return `unknown variable '${name}'; names start with params., conn., auth., cache. or env.`;
}
