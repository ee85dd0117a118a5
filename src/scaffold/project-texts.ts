import { basename } from "node:path";
import { endpointJsonSchema, mainJsonSchema } from "../config/json-schema.ts";
import { toYaml } from "../config/to-yaml.ts";
import { isPlain } from "./names.ts";
import { SAMPLE_FILE, SAMPLE_TABLE, sampleText } from "./sample.ts";
import type { Table } from "./table.ts";
import { type EndpointText, tableEndpoints } from "./table-endpoints.ts";

/** What a new project is about. */
export interface ProjectContent {
  readonly connections: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly tables: readonly Table[];
  /** Further files, by path in the project. */
  readonly data: ReadonlyMap<string, string>;
}

export const SAMPLE_CONTENT: ProjectContent = {
  connections: new Map([[SAMPLE_TABLE.connection, { type: "csv", path: `./${SAMPLE_FILE}` }]]),
  tables: [SAMPLE_TABLE],
  data: new Map([[SAMPLE_FILE, sampleText()]]),
};

export const MAIN_FILE = "eider.yaml";
const ENDPOINTS = "endpoints";

/** A project as texts, by path in the project. */
export interface ProjectTexts {
  readonly endpoints: readonly EndpointText[];
  /** What Eider serves. */
  readonly served: ReadonlyMap<string, string>;
}

/** The configuration file and the endpoints of a project in this folder. */
export function projectTexts({ connections, tables }: ProjectContent, folder: string): ProjectTexts {
  const endpoints = tableEndpoints(tables);
  const name = basename(folder);
  const main = toYaml({
    "project-name": name !== "" && isPlain(name) ? name : "data",
    template: { path: ENDPOINTS },
    connections: Object.fromEntries(connections),
  });
  return {
    endpoints,
    served: new Map([[MAIN_FILE, main], ...endpoints.flatMap((each) => endpointFiles(each, ENDPOINTS))]),
  };
}

/** The two files of an endpoint. */
export function endpointFiles(
  { name, yaml, sql }: EndpointText,
  folder: string,
): readonly (readonly [string, string])[] {
  return [
    [`${folder}/${name}.yaml`, yaml],
    [`${folder}/${name}.sql`, sql],
  ];
}

/** All files that `eider init` writes. */
export function newProject(content: ProjectContent, folder: string): ReadonlyMap<string, string> {
  const { endpoints, served } = projectTexts(content, folder);
  return new Map([
    ...served,
    ...content.data,
    ...endpoints.slice(0, 1).map((each) => [`${ENDPOINTS}/${each.name}.test.yaml`, testText(each, content)] as const),
    [".gitignore", ".env\n"],
    [".env.example", ENV_EXAMPLE],
    [".vscode/settings.json", json({ "yaml.schemas": SCHEMAS })],
    [".vscode/eider.schema.json", json(mainJsonSchema())],
    [".vscode/eider-endpoint.schema.json", json(endpointJsonSchema())],
  ]);
}

const SCHEMAS = {
  "./.vscode/eider.schema.json": [MAIN_FILE],
  "./.vscode/eider-endpoint.schema.json": [`${ENDPOINTS}/**/*.yaml`, `!${ENDPOINTS}/**/*.test.yaml`],
};

const ENV_EXAMPLE = `# Copy this file to .env. Eider reads .env beside eider.yaml; the real environment overrides it.
# To use a variable of your own in YAML or SQL, list its name under template.environment-whitelist in eider.yaml.
# EIDER_PORT=8080
# EIDER_HOST=127.0.0.1
`;

function testText({ path }: EndpointText, { tables: [table] }: ProjectContent): string {
  return toYaml({
    endpoint: path,
    tests: [
      {
        name: "one row per page",
        request: { query: { limit: "1" } },
        // A table with a key has rows.
        expect: { status: 200, ...(table?.key !== undefined && { rows: 1 }) },
      },
      {
        name: "a negative limit is rejected",
        request: { query: { limit: "-1" } },
        expect: {
          status: 400,
          errors: [{ field: "limit", message: "Integer is less than the minimum allowed value" }],
        },
      },
    ],
  });
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
