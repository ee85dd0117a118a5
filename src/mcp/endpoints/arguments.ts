import type { Endpoint } from "../../endpoint/endpoint.ts";
import type { FieldError } from "../../failure.ts";
import { pageFields } from "../../params/page.ts";
import { headerName, type ParameterLocation, type RawParams, type RawValue } from "../../params/parameter.ts";
import { UNKNOWN_PARAMETER } from "../../params/validate-params.ts";

/** Where each argument would stand in a request over REST. */
export type ArgumentPlaces = ReadonlyMap<string, { readonly in: ParameterLocation; readonly name: string }>;

/** The arguments that an endpoint takes: those it declares, and the page of a paginated read. */
export function argumentPlaces({ parameters, operation }: Endpoint): ArgumentPlaces {
  const places = new Map<string, { readonly in: ParameterLocation; readonly name: string }>();
  if (operation.kind === "read" && operation.paginated) {
    for (const name of pageFields) places.set(name, { in: "query", name });
  }
  for (const { name, in: location } of parameters) {
    places.set(name, { in: location, name: location === "header" ? headerName(name) : name });
  }
  return places;
}

/** Arguments as the validators know them. What nobody declared is an error of its own: it never reaches a template. */
export function rawParamsOf(
  places: ArgumentPlaces,
  args: ReadonlyMap<string, RawValue>,
): { readonly raw: RawParams; readonly errors: readonly FieldError[] } {
  const raw = { query: new Map<string, RawValue>(), path: new Map(), header: new Map(), body: new Map() };
  const errors: FieldError[] = [];
  for (const [field, value] of args) {
    const place = places.get(field);
    if (place === undefined) errors.push({ field, message: UNKNOWN_PARAMETER });
    else raw[place.in].set(place.name, value);
  }
  return { raw, errors };
}
