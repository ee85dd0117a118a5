import type { Limits } from "../config/project.ts";
import { type Endpoint, supportsIdempotencyKey, undeclaredPageFields } from "../endpoint/endpoint.ts";
import { formats } from "../formats/index.ts";
import { isPageField, type PageField } from "../params/page.ts";
import { canonicalHeaderName, type Parameter } from "../params/parameter.ts";
import type { Components } from "./components.ts";
import { type JsonObject, withoutUnset } from "./json.ts";
import { type AppliedValidators, isRequired, parameterSchema } from "./parameter-schema.ts";

export interface ParameterContext {
  readonly components: Components;
  readonly limits: Pick<Limits, "defaultPageSize" | "maxPageSize">;
  /** The names of the path's placeholders in the document, in order. */
  readonly placeholders: readonly string[];
}

/** The parameters of an endpoint outside its body: path, declared and built-in ones. */
export function parametersOf(endpoint: Endpoint, context: ParameterContext): readonly JsonObject[] {
  const declared = endpoint.parameters.filter((parameter) => parameter.in === "query" || parameter.in === "header");
  return [
    ...pathParameters(endpoint, context),
    ...declared.map((parameter) => declaredParameter(parameter, endpoint, context)),
    ...(endpoint.operation.kind === "read" ? readParameters(endpoint, context) : []),
    ...(supportsIdempotencyKey(endpoint) ? [idempotencyKey(context)] : []),
  ];
}

/** Every placeholder is a parameter, even if it is not declared. */
function pathParameters(endpoint: Endpoint, { placeholders }: ParameterContext): readonly JsonObject[] {
  const names = (endpoint.route?.segments ?? []).flatMap((segment) => (segment.kind === "param" ? segment.name : []));
  return names.map((name, index) => {
    const declared = endpoint.parameters.find((parameter) => parameter.in === "path" && parameter.name === name);
    const parameter = declared ?? {
      name,
      in: "path",
      description: undefined,
      required: true,
      default: undefined,
      validators: [],
    };
    return withoutUnset({
      name: placeholders[index] ?? name,
      in: "path",
      required: true,
      description: parameter.description,
      schema: parameterSchema({ ...parameter, default: undefined }, appliedValidatorsOf(endpoint, name)),
    });
  });
}

function declaredParameter(parameter: Parameter, endpoint: Endpoint, { limits }: ParameterContext): JsonObject {
  const { name, in: location, description } = parameter;
  return withoutUnset({
    name: location === "header" ? canonicalHeaderName(name) : name,
    in: location,
    required: isRequired(parameter) || undefined,
    description,
    schema: parameterSchema(parameter, appliedValidatorsOf(endpoint, name), builtInRules(parameter, endpoint, limits)),
  });
}

/** Eider's own rules for a parameter with a built-in name. */
function builtInRules({ name, in: location }: Parameter, endpoint: Endpoint, limits: ParameterContext["limits"]) {
  if (name === "format" && location === "query") return formatSchema(endpoint);
  return isPageField(name) && endpoint.operation.kind === "read" ? pageSchema(name, limits) : undefined;
}

/** With `validate-before-write: false`, only enums that become part of the SQL are checked. */
export function appliedValidatorsOf({ operation, template }: Endpoint, name: string): AppliedValidators {
  if (operation.kind === "read" || operation.validateBeforeWrite) return "all";
  return template?.enforcedEnums.has(name) === true ? "enums" : "none";
}

/** `limit`, `offset` and `format` need no declaration. */
function readParameters(endpoint: Endpoint, { components, limits }: ParameterContext): readonly JsonObject[] {
  const { parameters, operation } = endpoint;
  const paginated = operation.kind === "read" && operation.paginated;
  const pages = undeclaredPageFields(endpoint).map((field) => {
    // Without pagination, all rows are sent unless the client limits them.
    const isOptionalLimit = field === "limit" && !paginated;
    return components.parameter(isOptionalLimit ? "limitOfRows" : field, () => ({
      name: field,
      in: "query",
      description: isOptionalLimit ? "Maximum number of rows; all rows when absent." : PAGE_DESCRIPTIONS[field],
      schema: isOptionalLimit
        ? pageSchema(field, limits)
        : { ...pageSchema(field, limits), default: field === "limit" ? limits.defaultPageSize : 0 },
    }));
  });
  if (parameters.some((parameter) => parameter.name === "format" && parameter.in === "query")) return pages;
  const format = components.parameter("format", () => ({
    name: "format",
    in: "query",
    description: "Overrides `Accept`.",
    schema: formatSchema(endpoint),
  }));
  return [...pages, format];
}

const PAGE_DESCRIPTIONS: Readonly<Record<PageField, string>> = {
  limit: "Rows per page.",
  offset: "Rows to skip.",
};

export function pageSchema(field: PageField, { maxPageSize }: ParameterContext["limits"]): JsonObject {
  return { type: "integer", minimum: 0, maximum: field === "limit" ? maxPageSize : Number.MAX_SAFE_INTEGER };
}

/** A write returns JSON only. */
function formatSchema({ operation }: Endpoint): JsonObject {
  const names = formats.map(({ name }) => name);
  return { type: "string", enum: operation.kind === "read" ? names : names.slice(0, 1), default: names[0] };
}

function idempotencyKey({ components }: ParameterContext): JsonObject {
  return components.parameter("idempotencyKey", () => ({
    name: "Idempotency-Key",
    in: "header",
    description:
      "Identifies the request, so that it can be retried: within 24 hours Eider returns the first response and runs nothing.",
    schema: { type: "string", pattern: "^[!-~]([ -~]{0,253}[!-~])?$" },
  }));
}

/** The JSON object with the declared body fields. Undefined if there are none. */
export function requestBodyOf(endpoint: Endpoint, name: string, components: Components): JsonObject | undefined {
  const fields = endpoint.parameters.filter((parameter) => parameter.in === "body");
  if (fields.length === 0 || endpoint.route?.method === "GET") return undefined;
  const required = fields.filter(isRequired).map((field) => field.name);
  const schema = components.schema(name, () =>
    withoutUnset({
      type: "object",
      required: required.length === 0 ? undefined : required,
      properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field, endpoint)])),
      additionalProperties: endpoint.rejectsUnknownParams ? false : undefined,
    }),
  );
  return withoutUnset({
    required: required.length > 0 || undefined,
    content: { "application/json": { schema } },
  });
}

function fieldSchema(field: Parameter, endpoint: Endpoint): JsonObject {
  const schema = parameterSchema(field, appliedValidatorsOf(endpoint, field.name));
  return field.description === undefined
    ? schema
    : { ...schema, description: [field.description, schema["description"]].filter(Boolean).join(" ") };
}
