import { resolve } from "node:path";
import { readTextFile } from "../config/files.ts";
import type { ConnectionConfig, Project } from "../config/project.ts";
import { toYaml } from "../config/to-yaml.ts";
import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { effectsOf } from "../sql/classify.ts";
import type { Dialect } from "../sql/dialect.ts";
import { parseMustache } from "../sql/mustache-nodes.ts";
import { nameOf, wholeTokens } from "../sql/whole-tokens.ts";
import { ScaffoldError } from "./data-file.ts";
import { validatorOf } from "./filters.ts";
import { guessParameters } from "./guess-parameters.ts";
import { columnsOf } from "./inspect-file.ts";
import { withTags } from "./placeholders.ts";
import { type EndpointText, listEndpoint, type RequestYaml } from "./table-endpoints.ts";

export interface EndpointContext {
  readonly engine: EmbeddedEngine;
  readonly project: Project;
  /** The connection that the user chose. */
  readonly connection: string | undefined;
}

/** An endpoint for the SQL in a file. Rejects with a ScaffoldError. */
export async function sqlEndpoint(
  name: string,
  { file, cwd }: { readonly file: string; readonly cwd: string },
  context: EndpointContext,
): Promise<EndpointText & { readonly source: string }> {
  const { engine, project } = context;
  const source = readTextFile(resolve(cwd, file));
  if (source === undefined) throw new ScaffoldError(`${file}: not found, or not a text file`);
  const sql = withTags(source.replace(/^\ufeff/, ""), engine.dialect);
  const connections = connectionsFor(sql, context);
  const { parameters, statements } = await guessParameters(sql, { engine, project, connections });
  const texts = statements.map((statement) => statement.sql);
  const isWrite = effectsOf(texts, engine.dialect).some(({ kind }) => kind === "changes");
  const request = parameters.map(({ name, required, type }): RequestYaml => {
    const validator = validatorOf(type);
    return {
      "field-name": name,
      "field-in": isWrite ? "body" : "query",
      ...(required && { required: true }),
      ...(validator !== undefined && { validators: [validator] }),
    };
  });
  return {
    name,
    path: `/${name}`,
    yaml: toYaml({
      "url-path": `/${name}`,
      ...(isWrite && { method: "POST" }),
      connection: connections.map((each) => each.name),
      "template-source": `${name}.sql`,
      ...(request.length > 0 && { request }),
    }),
    sql,
    source,
  };
}

/** A list of the rows of a table. Rejects with a ScaffoldError. */
export async function tableEndpoint(name: string, table: string, context: EndpointContext): Promise<EndpointText> {
  const [connection] = connectionsFor(table, context);
  if (connection === undefined) throw new ScaffoldError("a table needs a connection");
  const path = [...wholeTokens(table, context.engine.dialect)]
    .filter(({ kind }) => kind === "word" || kind === "open-identifier")
    .map(({ text }) => (text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text));
  const known = { title: table, connection: connection.name, path, key: undefined, isSlowToCount: false };
  return listEndpoint({ ...known, columns: await columnsOf(known, context.engine) }, name);
}

/** The connections that SQL uses, as far as it names them or their properties. Throws a ScaffoldError. */
function connectionsFor(sql: string, { engine, project, connection }: EndpointContext): readonly ConnectionConfig[] {
  const all = [...project.main.connections.values()];
  const names = all.map((each) => each.name).join(", ");
  if (connection !== undefined) {
    const chosen = all.filter((each) => each.name === connection);
    if (chosen.length > 0) return chosen;
    throw new ScaffoldError(`--connection: there is no connection '${connection}'; the project has ${names || "none"}`);
  }
  if (all.length === 0) throw new ScaffoldError("the project has no connection; add one to its configuration file");
  if (all.length === 1) return all;
  const words = wordsOf(sql, engine.dialect);
  const properties = propertiesIn(sql);
  const hasAll = (each: ConnectionConfig): boolean => properties.every((key) => each.properties.has(key));
  const isNamed = (each: ConnectionConfig): boolean => words.has(each.name.toLowerCase());
  // The first connection provides the properties.
  const used = all.filter((each) => isNamed(each) || (properties.length > 0 && hasAll(each)));
  const sorted = used.toSorted((a, b) => Number(hasAll(b)) - Number(hasAll(a)));
  if (sorted.length > 0) return sorted;
  throw new ScaffoldError(`the SQL names none of the connections; choose one with --connection: ${names}`);
}

function wordsOf(sql: string, dialect: Dialect): ReadonlySet<string> {
  return new Set([...wholeTokens(sql, dialect)].map(nameOf));
}

function propertiesIn(sql: string): readonly string[] {
  return parseMustache(sql).nodes.flatMap((node) =>
    node.kind === "tag" && node.name.startsWith("conn.") ? [node.name.slice("conn.".length)] : [],
  );
}
