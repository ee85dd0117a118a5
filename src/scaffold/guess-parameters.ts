import type { ConnectionConfig, Project } from "../config/project.ts";
import { configurationScope } from "../endpoint/compile-endpoint.ts";
import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { isPageField, pageFields } from "../params/page.ts";
import type { ParamValue } from "../params/parameter.ts";
import type { ColumnType } from "../result/column.ts";
import { compileTemplate } from "../sql/compile-template.ts";
import { type MustacheNode, parseMustache } from "../sql/mustache-nodes.ts";
import { render } from "../sql/render.ts";
import type { TemplateScope } from "../sql/scope.ts";
import type { BoundValue, Statement } from "../sql/statement.ts";
import type { ValueClass } from "../sql/template.ts";
import { wholeTokens } from "../sql/whole-tokens.ts";

/** A parameter that a template uses. */
export interface GuessedParameter {
  readonly name: string;
  /** Whether the template uses it outside its own section. */
  readonly required: boolean;
  readonly type: ColumnType;
}

export interface GuessContext {
  readonly engine: EmbeddedEngine;
  readonly project: Project;
  /** Those of the endpoint. */
  readonly connections: readonly ConnectionConfig[];
}

export interface GuessedTemplate {
  readonly parameters: readonly GuessedParameter[];
  /** The SQL of a call with all parameters. */
  readonly statements: readonly Statement[];
}

/** Finds the parameters of a template, and their types, by preparing its SQL. */
export async function guessParameters(text: string, context: GuessContext): Promise<GuessedTemplate> {
  const found = new Map<string, boolean>();
  collect(parseMustache(text).nodes, [], found);
  const names = [...found.keys()];
  const { engine, project, connections } = context;
  const scope: TemplateScope = {
    ...configurationScope({ connections }, project),
    params: new Map<string, ValueClass>([
      ...names.map((name) => [name, "text"] as const),
      ...pageFields.map((name) => [name, "scalar"] as const),
    ]),
    cache: new Map(),
  };
  const { template } = compileTemplate(text, scope, engine.dialect);
  const lookup = ({ scope, name }: { readonly scope: string; readonly name: string }): ParamValue =>
    scope === "params" && isPageField(name)
      ? { text: "1", type: "BIGINT", value: 1n }
      : { text: markOf(name), type: "VARCHAR", value: markOf(name) };
  const statements = render(template, lookup, { dialect: engine.dialect });
  const types = new Map<string, ColumnType>();
  for (const { sql, values } of statements) {
    for (const [index, { value }] of values.entries()) {
      const name = names.find((each) => value === markOf(each));
      const type = name === undefined ? undefined : await expectedType(sql, index + 1, engine);
      if (name !== undefined && type !== undefined) types.set(name, type);
    }
  }
  const tried = await tryTypes(
    names.filter((name) => !types.has(name)),
    { statements, types, engine },
  );
  return {
    parameters: names.map((name) => ({
      name,
      required: found.get(name) === true,
      type: types.get(name) ?? tried.get(name) ?? TEXT,
    })),
    statements,
  };
}

/** Stands for the value of a parameter, and occurs in no SQL. */
function markOf(name: string): string {
  return `\u0001${name}`;
}

/** Adds the parameters of these nodes: true for one that is used outside its own sections. */
function collect(nodes: readonly MustacheNode[], inside: readonly string[], found: Map<string, boolean>): void {
  for (const node of nodes) {
    if (node.kind === "text") continue;
    const [, name] = /^params\.(.+)$/s.exec(node.name) ?? [];
    if (name !== undefined && !isPageField(name)) {
      const isOptional = node.kind === "section" || inside.includes(name);
      found.set(name, found.get(name) === true || !isOptional);
    }
    if (node.kind === "section") collect(node.children, name === undefined ? inside : [...inside, name], found);
  }
}

/** The type that a statement expects for its nth placeholder. DuckDB knows no type if it does not know all: the others become NULL. */
async function expectedType(sql: string, n: number, engine: EmbeddedEngine): Promise<ColumnType | undefined> {
  const { dialect } = engine;
  const alone = [...wholeTokens(sql, dialect)].map(({ kind, text }) => {
    if (kind !== "placeholder") return text;
    return text === dialect.placeholder(n) ? dialect.placeholder(1) : "NULL";
  });
  const [type] = await engine.parameterTypes(alone.join(""));
  return type;
}

const TEXT: ColumnType = { kind: "text" };
const INTEGER: ColumnType = { kind: "integer", bits: 64, signed: true };

/** Types for parameters about which preparing says nothing, with a value of each. What takes a time takes anything. */
const CANDIDATES: readonly (readonly [ColumnType, BoundValue])[] = [
  [TEXT, { type: "TIME", value: "00:00:00" }],
  [INTEGER, { type: "BIGINT", value: 1n }],
  [TEXT, { type: "VARCHAR", value: "a" }],
  [{ kind: "date" }, { type: "DATE", value: "2024-01-01" }],
];

/** There are 4 ** 3 combinations of types. */
const MOST_UNKNOWN = 3;

interface Attempt {
  readonly statements: readonly Statement[];
  /** The types that are known. */
  readonly types: ReadonlyMap<string, ColumnType>;
  readonly engine: EmbeddedEngine;
}

/** The first combination of types with which the database accepts the statements. */
async function tryTypes(
  names: readonly string[],
  { statements, types, engine }: Attempt,
): Promise<ReadonlyMap<string, ColumnType>> {
  if (names.length === 0 || names.length > MOST_UNKNOWN) return new Map();
  for (let number = 0; number < CANDIDATES.length ** names.length; number++) {
    const chosen = new Map(
      names.flatMap((name, index) => {
        const candidate = CANDIDATES[Math.floor(number / CANDIDATES.length ** index) % CANDIDATES.length];
        return candidate === undefined ? [] : [[name, candidate] as const];
      }),
    );
    const sampleFor = (bound: BoundValue): BoundValue => {
      const name = [...chosen.keys(), ...types.keys()].find((each) => bound.value === markOf(each));
      return name === undefined ? bound : (chosen.get(name)?.[1] ?? sampleOf(types.get(name)));
    };
    const problem = await engine.plan(statements.map(({ sql, values }) => ({ sql, values: values.map(sampleFor) })));
    if (problem === undefined) return new Map([...chosen].map(([name, [type]]) => [name, type]));
  }
  return new Map();
}

function sampleOf(type: ColumnType | undefined): BoundValue {
  switch (type?.kind) {
    case "boolean":
      return { type: "BOOLEAN", value: true };
    case "integer":
      return { type: "BIGINT", value: 1n };
    case "float":
    case "decimal":
      return { type: "DECIMAL", value: "1" };
    case "date":
    case "timestamp":
      return { type: "DATE", value: "2024-01-01" };
    case "time":
      return { type: "TIME", value: "00:00:00" };
    default:
      return { type: "VARCHAR", value: null };
  }
}
