import { toYaml } from "../config/to-yaml.ts";
import type { Column } from "../result/column.ts";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.ts";
import { filtersOf, isSortable, keyCondition, type ValidatorYaml, validatorOf } from "./filters.ts";
import { isPlain, slugOf, takeName } from "./names.ts";
import { nameInSql, type Table } from "./table.ts";

/** An endpoint as two texts. `name` is that of its files, without extension. */
export interface EndpointText {
  readonly name: string;
  readonly path: string;
  readonly yaml: string;
  readonly sql: string;
}

/** What the YAML of a parameter contains. */
export interface RequestYaml {
  readonly "field-name": string;
  readonly "field-in": "query" | "path" | "body";
  readonly description?: string;
  readonly required?: true;
  readonly default?: string;
  readonly validators?: readonly ValidatorYaml[];
}

/** Names that no filter may have. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set(["limit", "offset", "format", "sort", "order"]);

/** All rows of a table, with filters, sort order and pages. */
export function listEndpoint(table: Table, name: string): EndpointText {
  const filters = filtersOf(table.columns, OWN_PARAMETERS);
  const sortable = table.columns.filter(isSortable);
  const { value, section, header } = tagsFor(table);
  const request: RequestYaml[] = [
    ...filters.map((filter) => query(filter.name, filter.description, filter.validator)),
    ...(sortable.length === 0
      ? []
      : [
          query("sort", "The column to sort by", { type: "enum", allowedValues: sortable.map((each) => each.name) }),
          {
            ...query("order", "Ascending or descending", { type: "enum", allowedValues: ["asc", "desc"] }),
            default: "asc",
          },
        ]),
    ...(table.isSlowToCount
      ? [{ ...query("limit", "Rows per page", { type: "int", min: 0, max: 10_000 }), default: "100" }]
      : []),
  ];
  // Ties must not move rows between pages.
  const last = table.key === undefined ? sortable : [table.key.column];
  const order = [`"${value("sort")}" ${value("order")}`, ...last.map((each) => quoteIdentifier(each.name))].join(", ");
  return {
    name,
    path: `/${name}`,
    yaml: toYaml({
      "url-path": `/${name}`,
      description: `Rows of ${titleOf(table)}`,
      connection: [table.connection],
      "template-source": `${name}.sql`,
      ...(table.isSlowToCount && { "with-pagination": false }),
      // A filter with a typo would otherwise return all rows.
      "request-fields-validation": true,
      ...(request.length > 0 && { request }),
    }),
    sql: [
      ...header,
      "SELECT *",
      `FROM ${nameInSql(table)}`,
      "WHERE true",
      ...filters.flatMap((filter) => section(filter.name, `  AND ${filter.condition(value(filter.name))}`)),
      ...(sortable.length === 0 ? [] : section("sort", `ORDER BY ${order}`)),
      "",
    ].join("\n"),
  };
}

function query(name: string, description: string, validator: ValidatorYaml): RequestYaml {
  return { "field-name": name, "field-in": "query", description, validators: [validator] };
}

/** One row of a table, by its key. Undefined if it has none. */
export function rowEndpoint(table: Table, name: string): EndpointText | undefined {
  const { key } = table;
  const validator = key && validatorOf(key.column.type);
  if (key === undefined || validator === undefined) return undefined;
  const { value, header } = tagsFor(table);
  const parameter = slugOf(key.column.name, "_").replace(/^(?=\d)/, "_");
  const shown = isPlain(key.column.name) ? key.column.name : parameter;
  const note = key.isVerified ? "" : "; that it is unique was checked for the first rows only";
  return {
    name: `${name}-by-key`,
    path: `/${name}/:${parameter}`,
    yaml: toYaml({
      "url-path": `/${name}/:${parameter}`,
      description: `One row of ${titleOf(table)}, by ${shown}${note}`,
      connection: [table.connection],
      "template-source": `${name}-by-key.sql`,
      returns: "one",
      request: [{ "field-name": parameter, "field-in": "path", required: true, validators: [validator] }],
    }),
    sql: [
      ...header,
      "SELECT *",
      `FROM ${nameInSql(table)}`,
      `WHERE ${keyCondition(key.column, value(parameter))}`,
      "",
    ].join("\n"),
  };
}

/** The number of values, the minimum and the maximum of each column. */
export function summaryEndpoint(table: Table, name: string): EndpointText {
  const { header } = tagsFor(table);
  const columns = table.columns.filter((column) => column.name !== "");
  return {
    name: `${name}-summary`,
    path: `/${name}/summary`,
    yaml: toYaml({
      "url-path": `/${name}/summary`,
      description: `The columns of ${titleOf(table)}: number of values and NULLs, minimum and maximum. Reads all rows`,
      connection: [table.connection],
      "template-source": `${name}-summary.sql`,
      "with-pagination": false,
    }),
    sql: [
      ...header,
      "-- One row per column, in one pass over the data.",
      "SELECT unnest([",
      columns.map(summaryOf).join(",\n"),
      "], recursive := true)",
      `FROM ${nameInSql(table)}`,
      "",
    ].join("\n"),
  };
}

function summaryOf(column: Column): string {
  const name = quoteIdentifier(column.name);
  const text = (sql: string): string => (isSortable({ ...column, name: "x" }) ? `${sql}::VARCHAR` : "NULL::VARCHAR");
  const fields = [
    `"column": ${quoteLiteral(column.name)}`,
    `"values": count(${name})`,
    `"nulls": count(*) - count(${name})`,
    `"min": ${text(`min(${name})`)}`,
    `"max": ${text(`max(${name})`)}`,
  ];
  return `  {${fields.join(", ")}}`;
}

/** List, row by key and summary of each table. The names of the files and paths are unique. */
export function tableEndpoints(tables: readonly Table[]): readonly EndpointText[] {
  const taken = new Set(RESERVED);
  return tables.flatMap((table) => {
    const name = takeName(slugOf(table.title, "-"), taken, "-");
    taken.add(`${name}-by-key`).add(`${name}-summary`);
    return [listEndpoint(table, name), rowEndpoint(table, name) ?? [], summaryEndpoint(table, name)].flat();
  });
}

/** First segments of paths that belong to Eider itself. */
export const RESERVED: readonly string[] = ["health", "metrics", "docs", "doc", "auth", "mcp"];

function titleOf({ title }: Table): string {
  return isPlain(title) ? title : slugOf(title, "-");
}

interface Tags {
  value(name: string): string;
  section(name: string, body: string): readonly string[];
  /** The lines that set the delimiters, if they are not the usual ones. */
  readonly header: readonly string[];
}

const DELIMITERS: readonly (readonly [open: string, close: string])[] = [
  ["{{", "}}"],
  ["<%", "%>"],
  ["[[", "]]"],
  ["<<", ">>"],
];

/** The tags of a template. Their delimiters occur in no name of the table. */
function tagsFor({ path, columns }: Table): Tags {
  const names = [...path, ...columns.map((column) => column.name)].join("\n");
  const [open, close] = DELIMITERS.find((pair) => pair.every((each) => !names.includes(each))) ?? ["\u00ab", "\u00bb"];
  return {
    value: (name) => `${open}params.${name}${close}`,
    section: (name, body) => [`${open}#params.${name}${close}`, body, `${open}/params.${name}${close}`],
    header: open === "{{" ? [] : [`{{=${open} ${close}=}}`],
  };
}
