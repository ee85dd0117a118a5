import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { engine } from "../../src/engines/index.ts";
import { RequestFailure } from "../../src/failure.ts";
import type { ParamValue } from "../../src/params/parameter.ts";
import { compileTemplate } from "../../src/sql/compile-template.ts";
import { type Lookup, render } from "../../src/sql/render.ts";
import { withRendering } from "../../src/sql/rendering.ts";
import type { TemplateScope } from "../../src/sql/scope.ts";
import type { Statement } from "../../src/sql/statement.ts";
import { wholeTokens } from "../../src/sql/whole-tokens.ts";
import { mutations } from "./mutate.ts";
import { must, stopwatch, target } from "./target.ts";
import { words } from "./words.ts";

const { dialect } = engine;

const scope: TemplateScope = {
  params: new Map([
    ["text", "text"],
    ["other", "text"],
    ["n", "scalar"],
    ["flag", "scalar"],
    ["day", "typed"],
    ["pick", "enum"],
  ]),
  conn: new Map([
    ["path", "data/x.csv"],
    ["odd", 'it\'s "odd" -- $$'],
  ]),
  connectionName: "db",
  cache: new Map([["table", "c"]]),
  environment: (name) => (name === "SET" ? { value: "north" } : name === "UNSET" ? "unset" : "unlisted"),
};

const names = words.variables;

const fragments = words.sql;

type Node = fc.Arbitrary<string>;

const tag: Node = fc.tuple(fc.constantFrom(...names), fc.constantFrom("2", "3", "&", " ")).map(([name, style]) => {
  if (style === "3") return `{{{${name}}}}`;
  return style === "&" ? `{{&${name}}}` : style === " " ? `{{ ${name} }}` : `{{${name}}}`;
});
const oddity: Node = fc.constantFrom(
  "{{! a comment }}",
  "{{=<% %>=}}<%params.text%><%={{ }}=%>",
  "{{> part}}",
  "{{#if x}}",
  "{{else}}",
  "{{/if}}",
);

const { tree } = fc.letrec<{ tree: string; node: string }>((tie) => ({
  tree: fc.array(tie("node"), { maxLength: 8, depthIdentifier: "template" }).map((parts) => parts.join("")),
  node: fc.oneof(
    { depthSize: "small", depthIdentifier: "template" },
    { arbitrary: fc.constantFrom(...fragments), weight: 8 },
    { arbitrary: tag, weight: 5 },
    { arbitrary: oddity, weight: 1 },
    {
      arbitrary: fc
        .tuple(fc.constantFrom(...names), fc.constantFrom("#", "^"), tie("tree"))
        .map(([name, sign, inside]) => `{{${sign}${name}}}${inside}{{/${name}}}`),
      weight: 3,
    },
    { arbitrary: tie("tree"), weight: 2 },
  ),
}));

/** What DuckDB can plan more often: literals and values side by side, with and without room between them. */
const lexical: Node = fc
  .array(fc.oneof(...words.lexical.map((group) => fc.constantFrom(...group))), { minLength: 1, maxLength: 9 })
  .map((parts) => `SELECT ${parts.join("")} FROM t`);

/** Templates that a person would write, to start from. */
const sensible = fc.constantFrom(
  "SELECT * FROM t WHERE true {{#params.text}}AND a ILIKE '%{{{params.text}}}%'{{/params.text}} ORDER BY {{{params.pick}}}",
  "SELECT '{{{params.text}}}' AS a, {{params.n}} AS n, E'\\n{{params.other}}' AS b, $${{{params.text}}}$$ AS c; -- {{params.text}}",
  "SELECT DATE '{{params.day}}', INTERVAL '{{params.n}} days', /* {{params.text}} */ \"{{params.pick}}\", t_{{params.n}} FROM t",
  "CREATE TEMP TABLE x AS SELECT {{params.text}} AS a; SELECT a FROM x WHERE a = '{{#params.other}}{{{params.other}}}{{/params.other}}'",
  "SELECT * FROM query('SELECT ' || sql_literal('{{{params.text}}}') || ' AS v')",
  "SELECT * FROM query('SELECT ''{{{params.text}}}'' AS v') WHERE {{^params.flag}}false{{/params.flag}}{{params.flag}}",
  "SELECT * FROM read_csv('{{{conn.path}}}') WHERE r = '{{env.SET}}' LIMIT {{params.n}}",
);

/** No statement may hold this: it stands in every text that a client sends. */
const MARK = "zq7zq";
const texts = [`${MARK}'"\\;--/*$$$q$\n{{params.text}}`, `${MARK}`, `1 OR 1=1 ${MARK}`] as const;

interface Input {
  readonly template: string;
  /** Which names are set. */
  readonly set: readonly string[];
}

const VARCHAR = (text: string): ParamValue => ({ text, type: "VARCHAR", value: text });

function lookup(set: readonly string[], text: string): Lookup {
  return ({ scope: where, name }) => {
    if (!set.includes(name)) return undefined;
    if (where === "auth" && name === "authenticated") return { text: "true", type: "BOOLEAN", value: true };
    switch (name) {
      case "n":
        return { text: "-42", type: "BIGINT", value: -42n };
      case "flag":
        return { text: "true", type: "BOOLEAN", value: true };
      case "day":
        return { text: "2024-02-29", type: "DATE", value: "2024-02-29" };
      case "pick":
        return VARCHAR("a");
      default:
        return VARCHAR(text);
    }
  };
}

/** Undefined when a value was refused, as a client would be. */
function rendered(
  compiled: ReturnType<typeof compileTemplate>,
  values: Lookup,
  inlinesTyped: boolean,
): readonly Statement[] | undefined {
  try {
    const boundEnums = new Set(inlinesTyped ? compiled.template.bareEnums.keys() : []);
    return render(withRendering(compiled.template, { boundEnums, inlinesTyped }), values, { dialect });
  } catch (error) {
    if (error instanceof RequestFailure) return undefined;
    throw error;
  }
}

const LIMIT_MS = 2_000;

/** Compiling and rendering: they end, and what a client sends is no part of any statement. */
export const templates = target<Input>({
  name: "templates",
  share: 0.15,
  inputs: fc.record({
    template: fc.oneof(
      { arbitrary: tree, weight: 2 },
      { arbitrary: lexical, weight: 2 },
      { arbitrary: mutations(fc.oneof(tree, sensible), fragments), weight: 2 },
    ),
    set: fc.subarray(["text", "other", "n", "flag", "day", "pick", "username", "authenticated"]),
  }),
  open: async () => {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    await connection.run("CREATE TABLE t (a VARCHAR, b INTEGER, r VARCHAR)");
    return {
      async check({ template, set }) {
        const worked = stopwatch();
        const compiled = compileTemplate(template, scope, dialect);
        for (const { offset, message } of compiled.problems) {
          must(offset >= 0 && offset <= template.length, () => `a problem at ${offset}: ${message}`);
          must(/\S/.test(message), () => "a problem without words");
        }
        if (compiled.problems.some(({ severity }) => severity === "error")) return;
        for (const inline of [false, true]) {
          const outcomes = texts
            .map((text) => rendered(compiled, lookup(set, text), inline))
            .filter((each) => each !== undefined);
          const sqls = outcomes.map((statements) => statements.map(({ sql }) => sql));
          must(
            new Set(sqls.map((each) => JSON.stringify(each))).size <= 1,
            () => `values change the SQL: ${JSON.stringify(sqls)}`,
          );
          for (const statement of outcomes.flat()) mustBind(statement);
          for (const statement of outcomes[0] ?? []) await mustReadAlike(statement);
        }
        must(worked() < LIMIT_MS, () => `took ${worked()} ms`);
      },
      async [Symbol.asyncDispose]() {
        connection.closeSync();
        instance.closeSync();
      },
    };

    /** DuckDB finds one statement where we do, and as many parameters. */
    async function mustReadAlike({ sql, values }: Statement): Promise<void> {
      // The C API ends at a NUL.
      if (sql.includes("\0")) return;
      const found = await connection.extractStatements(sql).catch(() => undefined);
      if (found === undefined) return;
      must(found.count <= 1, () => `DuckDB finds ${found.count} statements in ${JSON.stringify(sql)}`);
      if (found.count === 0) return;
      const prepared = await found.prepare(0).catch(() => undefined);
      if (prepared === undefined) return;
      must(
        prepared.parameterCount === values.length,
        () => `DuckDB finds ${prepared.parameterCount} parameters in ${JSON.stringify(sql)}`,
      );
      prepared.destroySync();
    }
  },
});

/** As many placeholders as values, and nothing of a client. */
function mustBind({ sql, values }: Statement): void {
  must(!sql.includes(MARK), () => `a value became SQL: ${JSON.stringify(sql)}`);
  const tokens = [...wholeTokens(sql, dialect)].filter(({ kind }) => kind === "placeholder");
  const placeholders = new Set(tokens.map(({ text }) => text));
  must(placeholders.size === values.length, () => `${values.length} values for ${JSON.stringify(sql)}`);
}
