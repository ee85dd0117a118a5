import { checkText } from "../params/check-text.ts";
import { headerName, type Parameter } from "../params/parameter.ts";
import type { Complain, KeyPath } from "./problem.ts";
import type { EndpointInput, Method } from "./schema/endpoint.ts";
import type { UrlPath } from "./url-path.ts";

type RequestEntry = EndpointInput["request"][number];

export interface ParameterRules {
  /** Undefined for an endpoint without REST, or with a problem in its path, method or parameters. */
  readonly rest: { readonly method: Method; readonly urlPath: UrlPath } | undefined;
}

/** Compiles the parameters, and checks the rules that involve several keys. */
export function compileParameters(
  entries: readonly RequestEntry[],
  { rest }: ParameterRules,
  complain: Complain,
): readonly Parameter[] {
  const seen = new Map<string, number>();
  const parameters = entries.map((entry, index): Parameter => {
    const parameter = compileParameter(entry);
    const at = (key: string): KeyPath => ["request", index, key];
    const { name } = parameter;
    // Two spellings of a header are the same parameter.
    const identity = parameter.in === "header" ? headerName(name) : name;
    const first = seen.get(name) ?? seen.get(identity);
    if (first !== undefined)
      complain(at("field-name"), `'${name}' is declared twice, first as request[${first}]; keep one`);
    seen.set(name, first ?? index);
    seen.set(identity, first ?? index);
    const badName = nameProblem(parameter);
    if (badName !== undefined) complain(at("field-name"), badName);
    if (rest !== undefined) {
      if (parameter.in === "body" && rest.method === "GET") {
        complain(at("field-in"), "a GET request has no body; use query, or method POST, PUT, PATCH or DELETE");
      }
      if (parameter.in === "path" && !rest.urlPath.placeholders.includes(name)) {
        complain(at("field-name"), `url-path has no placeholder ':${name}'; add it, or use field-in: query`);
      }
    }
    const badDefault = defaultProblem(parameter);
    if (badDefault !== undefined) complain(at("default"), badDefault);
    return parameter;
  });
  for (const placeholder of rest?.urlPath.placeholders ?? []) {
    const declared = parameters.find((parameter) => parameter.name === placeholder);
    if (declared?.in === "path") continue;
    const found = declared === undefined ? "request does not declare it" : `request declares it in ${declared.in}`;
    complain(["url-path"], `':${placeholder}' has no parameter with field-in: path; ${found}`);
  }
  return parameters;
}

function compileParameter(entry: RequestEntry): Parameter {
  return {
    name: entry["field-name"],
    in: entry["field-in"],
    description: entry.description,
    required: entry.required,
    default: entry.default,
    validators: entry.validators,
  };
}

function nameProblem({ name, in: location }: Parameter): string | undefined {
  if (/[\s.{}]/u.test(name)) return `'${name}' cannot be written as params.<name>; use letters, digits and underscores`;
  if (location === "header" && !/^[A-Za-z0-9_!#$%&'*+^`|~-]+$/.test(name))
    return `'${name}' cannot be the name of a header`;
  return undefined;
}

function defaultProblem(parameter: Parameter): string | undefined {
  const { default: value } = parameter;
  if (value === undefined) return undefined;
  const checked = checkText(parameter, value);
  return checked.ok ? undefined : `the default '${value}' fails its own validators: ${checked.message}`;
}
