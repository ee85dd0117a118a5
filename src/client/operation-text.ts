import { type Endpoint, type Route, undeclaredPageFields } from "../endpoint/endpoint.ts";
import { headerName, type ParameterLocation } from "../params/parameter.ts";
import type { Numbers } from "./runtime/call.ts";
import { literal, objectKey } from "./source-text.ts";

/** The operation of an endpoint, as source code. */
export function operationText(endpoint: Endpoint, route: Route, numbers: Numbers | undefined): string {
  const { parameters } = endpoint;
  const namesIn = (location: ParameterLocation): readonly string[] =>
    parameters.filter((parameter) => parameter.in === location).map(({ name }) => literal(name));
  const headers = parameters
    .filter((parameter) => parameter.in === "header")
    .map(({ name }) => `[${literal(name)}, ${literal(headerName(name))}]`);
  const lines = [
    `kind: ${literal(kindOf(endpoint))}`,
    `method: ${literal(route.method)}`,
    `path: ${literal(pathOf(route))}`,
    ...listProperty("query", [...namesIn("query"), ...undeclaredPageFields(endpoint).map(literal)]),
    ...listProperty("headers", headers),
    ...listProperty("body", namesIn("body")),
    ...(numbers === undefined ? [] : [`numbers: ${numbersText(numbers)}`]),
  ];
  return `{\n${lines.map((line) => `    ${line},\n`).join("")}  }`;
}

function kindOf({ operation }: Endpoint): "one" | "rows" | "page" | "write" {
  if (operation.kind === "write") return "write";
  if (operation.returns === "one") return "one";
  return operation.paginated ? "page" : "rows";
}

/** A placeholder is a whole segment, `:name`. Other segments contain no colon. */
function pathOf({ segments }: Route): string {
  return `/${segments.map((segment) => (segment.kind === "param" ? `:${segment.name}` : encodeURI(segment.text))).join("/")}`;
}

function listProperty(key: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : [`${key}: [${items.join(", ")}]`];
}

function numbersText(numbers: Numbers): string {
  if (typeof numbers === "string") return literal(numbers);
  if ("each" in numbers) return `{ each: ${numbersText(numbers.each)} }`;
  const entries = Object.entries(numbers.fields).map(([name, each]) => `${objectKey(name)}: ${numbersText(each)}`);
  return `{ fields: { ${entries.join(", ")} } }`;
}
