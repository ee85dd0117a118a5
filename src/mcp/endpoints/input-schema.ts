import type { Limits } from "../../config/project.ts";
import { type JsonObject, withoutUnset } from "../../docs/json.ts";
import { isRequired, parameterSchema } from "../../docs/parameter-schema.ts";
import { appliedValidatorsOf, pageSchema } from "../../docs/parameters.ts";
import type { Endpoint } from "../../endpoint/endpoint.ts";
import { isPageField, type PageField, pageFields } from "../../params/page.ts";
import type { Parameter } from "../../params/parameter.ts";

type PageLimits = Pick<Limits, "defaultPageSize" | "maxPageSize">;

/** The arguments of a tool as JSON Schema. The validators reject everything that the schema rejects. */
export function inputSchema(endpoint: Endpoint, limits: PageLimits): JsonObject {
  const { parameters, operation } = endpoint;
  const isPaged = operation.kind === "read" && operation.paginated;
  const undeclared = isPaged ? pageFields.filter((field) => !parameters.some(({ name }) => name === field)) : [];
  const required = parameters.filter(isRequired).map(({ name }) => name);
  const properties = [
    ...parameters.map((parameter) => [parameter.name, argumentSchema(parameter, endpoint, limits)] as const),
    ...undeclared.map((field) => [field, pageArgument(field, limits)] as const),
  ];
  return withoutUnset({
    type: "object",
    // Assignment would fail for a parameter named `__proto__`.
    properties: properties.length === 0 ? undefined : Object.fromEntries(properties),
    required: required.length === 0 ? undefined : required,
    additionalProperties: false,
  });
}

function argumentSchema(parameter: Parameter, endpoint: Endpoint, limits: PageLimits): JsonObject {
  const { name, description } = parameter;
  const pageFieldSchema =
    isPageField(name) && endpoint.operation.kind === "read" ? pageSchema(name, limits) : undefined;
  const schema = parameterSchema(parameter, appliedValidatorsOf(endpoint, name), pageFieldSchema);
  if (description === undefined) return schema;
  return { ...schema, description: [description, schema["description"]].filter(Boolean).join(" ") };
}

function pageArgument(field: PageField, limits: PageLimits): JsonObject {
  const schema = pageSchema(field, limits);
  switch (field) {
    case "limit":
      return { ...schema, default: limits.defaultPageSize, description: "Rows to return." };
    case "offset":
      return { ...schema, default: 0, description: "Rows to skip." };
  }
}
