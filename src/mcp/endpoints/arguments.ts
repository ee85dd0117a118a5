import type { Endpoint } from "../../endpoint/endpoint.ts";
import type { FieldError } from "../../failure.ts";
import { pageFields } from "../../params/page.ts";
import { headerName, type ParameterLocation, type RawParams, type RawValue } from "../../params/parameter.ts";
import { UNKNOWN_PARAMETER } from "../../params/validate-params.ts";

/** The location of each argument in the equivalent REST request. */
export type ArgumentLocations = ReadonlyMap<string, { readonly in: ParameterLocation; readonly name: string }>;

/** The arguments of an endpoint: those that it declares, and the page of a paginated read. */
export function argumentLocations({ parameters, operation }: Endpoint): ArgumentLocations {
  const locations = new Map<string, { readonly in: ParameterLocation; readonly name: string }>();
  if (operation.kind === "read" && operation.paginated) {
    for (const name of pageFields) locations.set(name, { in: "query", name });
  }
  for (const { name, in: location } of parameters) {
    locations.set(name, { in: location, name: location === "header" ? headerName(name) : name });
  }
  return locations;
}

/** Arguments as raw parameters. An undeclared argument is an error and never reaches a template. */
export function rawParamsOf(
  locations: ArgumentLocations,
  args: ReadonlyMap<string, RawValue>,
): { readonly raw: RawParams; readonly errors: readonly FieldError[] } {
  const raw = { query: new Map<string, RawValue>(), path: new Map(), header: new Map(), body: new Map() };
  const errors: FieldError[] = [];
  for (const [field, value] of args) {
    const location = locations.get(field);
    if (location === undefined) errors.push({ field, message: UNKNOWN_PARAMETER });
    else raw[location.in].set(location.name, value);
  }
  return { raw, errors };
}
