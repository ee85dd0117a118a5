import { describeEndpoints } from "../docs/describe-endpoint.ts";
import { notesOf } from "../docs/notes.ts";
import { operationIds } from "../docs/operation-id.ts";
import type { DocumentSource } from "../docs/project-document.ts";
import { type RowShape, UNKNOWN_ROWS } from "../docs/row-shape.ts";
import type { Endpoint, Route } from "../endpoint/endpoint.ts";
import { runtimeText } from "./client-files.ts";
import { operationText } from "./operation-text.ts";
import { fieldNames, paramsType } from "./parameter-type.ts";
import type { Numbers } from "./runtime/call.ts";
import { comment, literal, prose, typeKey } from "./source-text.ts";
import { type NumberMode, numbersOf, unknownNumbers, valueType } from "./value-type.ts";

/** An open project. */
export type ClientSource = Omit<DocumentSource, "now">;

export interface GenerateOptions {
  /** How BIGINT, HUGEINT and DECIMAL appear in rows. Default: `bigint`. */
  readonly bigint?: NumberMode;
}

/** One endpoint, with all the data for its types and comments. */
interface ClientOperation {
  readonly id: string;
  readonly endpoint: Endpoint;
  readonly route: Route;
  readonly rows: RowShape;
  readonly documentation: Documentation;
}

interface Documentation {
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
  readonly deprecated?: boolean;
}

/** Generates a typed client for the REST endpoints of a project: one TypeScript file. */
export async function generateClient(
  source: ClientSource,
  { bigint: mode = "bigint" }: GenerateOptions = {},
): Promise<string> {
  const collected = await collectOperations(source);
  const operations = collected.map((each) => ({ ...each, ...rowTypeOf(each, mode) }));
  const { name, version } = source.project.main;
  const about = `Client of ${prose(name)} ${prose(version)}, made by \`eider client\`. Changes are lost when it is made again.`;
  const parts = [
    `${comment([about])}/* eslint-disable */`,
    await runtimeText("api"),
    numberTypes(mode),
    ...operations.map((each) => typesOf(each, mode)),
    `export interface Client {\n${operations.map(memberOf).join("\n")}}`,
    // Without `as const`, the compiler widens the value of a key like `constructor`.
    `const operations = {\n${operations.map(entryOf).join("")}} as const;`,
    factoryText(mode),
    await runtimeText("call"),
    ...(mode === "number" ? [] : [await runtimeText("exact-json")]),
  ];
  return `${parts.map((part) => part.trim()).join("\n\n")}\n`;
}

function entryOf({ id, endpoint, route, numbers }: TypedOperation): string {
  return `  ${id}: ${operationText(endpoint, route, numbers)},\n`;
}

function factoryText(mode: NumberMode): string {
  return `export function createClient(options: ClientOptions): Client {
  // The operations and the type come from the same endpoints.
  return openMethods(operations, options, ${mode === "number" ? "(text) => JSON.parse(text)" : "parseExact"}) as Client;
}`;
}

/** Collects the operations, sorted, so that the order of the files does not matter. */
async function collectOperations({ project, endpoints, engineOf }: ClientSource): Promise<readonly ClientOperation[]> {
  const shapes = await describeEndpoints(
    endpoints.filter(({ route }) => route !== undefined),
    { engineOf },
  );
  const routed = endpoints.flatMap((endpoint, index) => {
    const { route } = endpoint;
    const documentation = project.endpoints[index] ?? {};
    return route === undefined ? [] : [{ endpoint, route, documentation, rows: shapes.get(endpoint) ?? UNKNOWN_ROWS }];
  });
  const inOrder = routed.toSorted((left, right) => compare(left.route, right.route));
  const ids = operationIds(inOrder.map(({ route }) => route));
  return inOrder.map((each, index) => ({ ...each, id: ids[index] ?? "" }));
}

const METHODS: readonly string[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

function compare(left: Route, right: Route): number {
  if (left.path !== right.path) return left.path < right.path ? -1 : 1;
  return METHODS.indexOf(left.method) - METHODS.indexOf(right.method);
}

interface RowType {
  /** The type of a row. Undefined if no rows are returned. */
  readonly row: string | undefined;
  /** How numbers in a response are parsed. Undefined if `JSON.parse` is sufficient. */
  readonly numbers: Numbers | undefined;
}

function rowTypeOf({ rows, endpoint }: ClientOperation, mode: NumberMode): RowType {
  const row = rowOf(rows, mode);
  if (row === undefined || row.numbers === undefined || row.numbers === "number")
    return { row: row?.text, numbers: undefined };
  const { operation } = endpoint;
  const hasNoEnvelope = operation.kind === "read" && !operation.paginated;
  return { row: row.text, numbers: hasNoEnvelope ? row.numbers : { fields: { data: row.numbers } } };
}

function rowOf(
  rows: RowShape,
  mode: NumberMode,
): { readonly text: string; readonly numbers: Numbers | undefined } | undefined {
  switch (rows.kind) {
    case "none":
      return undefined;
    case "unknown":
      return { text: "Record<string, unknown>", numbers: unknownNumbers(mode) };
    case "known": {
      const columns = rows.columns.map((column) => ({ ...column, ...valueType(column.types, mode) }));
      const members = columns.map(
        ({ name, isAlwaysPresent, text }) => `  ${typeKey(name)}${isAlwaysPresent ? "" : "?"}: ${text};\n`,
      );
      return { text: `{\n${members.join("")}}`, numbers: numbersOf(columns) };
    }
  }
}

type TypedOperation = ClientOperation & RowType;

function typesOf({ id, endpoint, row, rows }: TypedOperation, mode: NumberMode): string {
  const name = capitalized(id);
  const types = [
    `export type ${name}Params = ${paramsType(endpoint, mode)};`,
    `export type ${name}Field = ${fieldNames(endpoint).map(literal).join(" | ")};`,
    ...(row === undefined ? [] : [`export type ${name}Row = ${row};`]),
  ];
  if (endpoint.operation.kind === "read") return types.join("\n\n");
  const alwaysHasData = rows.kind === "known" && !rows.sometimesAbsent;
  const list = endpoint.operation.returns === "one" ? "" : "[]";
  const data = row === undefined ? "" : `; data${alwaysHasData ? "" : "?"}: ${name}Row${list}`;
  return [...types, `export type ${name}Result = { rows_affected: number${data} };`].join("\n\n");
}

function memberOf({ id, endpoint, route, documentation }: TypedOperation): string {
  const { summary, description, deprecated = false } = documentation;
  const name = capitalized(id);
  const paragraphs = [
    ...(summary === undefined ? [] : [prose(summary)]),
    ...(description === undefined ? [] : [prose(description)]),
    [`\`${route.method} ${route.path}\`.`, ...notesOf(endpoint).sentences].join(" "),
    ...(deprecated ? ["@deprecated"] : []),
  ];
  const [method, result] = methodOf(endpoint);
  return `${comment(paragraphs, "  ")}  readonly ${id}: ${method}<${name}Params, ${name}${result}, ${name}Field>;\n`;
}

function methodOf({ operation }: Endpoint): readonly [method: string, result: string] {
  if (operation.kind === "write") return ["WriteMethod", "Result"];
  if (operation.returns === "one") return ["RowMethod", "Row"];
  return [operation.paginated ? "PagedMethod" : "RowsMethod", "Row"];
}

function numberTypes(mode: NumberMode): string {
  return `/** A number with all its digits, as a string. */
export type NumberText = \`\${number}\`;

/** A value of a JSON column${mode === "bigint" ? "; integers that a double cannot hold are bigints" : ""}. */
export type Json = string | number${mode === "bigint" ? " | bigint" : ""} | boolean | null | Json[] | { [key: string]: Json };

/** The value of a field without a type: the query gets an object or an array as JSON. */
export type JsonInput = string | number | bigint | boolean | object;`;
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
