import { describe, expect, test } from "vitest";
import { duckdbDialect as dialect } from "../../src/engines/duckdb/dialect.ts";
import { RequestFailure } from "../../src/failure.ts";
import type { ParamValue } from "../../src/params/parameter.ts";
import { compileTemplate } from "../../src/sql/compile-template.ts";
import { render } from "../../src/sql/render.ts";
import { withRendering } from "../../src/sql/rendering.ts";
import type { TemplateScope } from "../../src/sql/scope.ts";
import type { ValueClass } from "../../src/sql/template.ts";

const traits: [string, ValueClass][] = [
  ["id", "scalar"],
  ["flag", "scalar"],
  ["day", "typed"],
  ["name", "text"],
  ["sort", "enum"],
];
const scope: TemplateScope = {
  params: new Map(traits),
  types: new Map([
    ["id", "BIGINT"],
    ["flag", "BOOLEAN"],
    ["day", "DATE"],
  ]),
  conn: new Map([
    ["path", "data/it's.csv"],
    ["table", "main.t"],
  ]),
  connectionName: "files",
  cache: new Map(),
  environment: (name) => (name === "REGION" ? { value: "EU" } : name === "EMPTY" ? "unset" : "unlisted"),
};
const text = (value: string): ParamValue => ({ text: value, type: "VARCHAR", value });
const int = (value: number): ParamValue => ({ text: String(value), type: "BIGINT", value: BigInt(value) });

function rendered(template: string, values: Record<string, ParamValue>, inline = false): string {
  const { template: program, problems } = compileTemplate(template, scope, dialect);
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  const rendering = { boundEnums: new Set<string>(), inlinesTyped: inline };
  return render(withRendering(program, rendering), (ref) => values[`${ref.scope}.${ref.name}`], { dialect })
    .map(({ sql, values: bound }) => [sql, ...bound.map(({ type, value }) => `${type} ${value}`)].join(" | "))
    .join(" ;; ");
}

function problemsOf(template: string): string[] {
  return compileTemplate(template, scope, dialect).problems.map(
    ({ severity, offset, message }) => `${severity === "warning" ? "warning " : ""}${offset}: ${message}`,
  );
}

const params = {
  "params.id": int(42),
  "params.name": text("O'Brien"),
  "params.sort": text("created_at"),
  "params.day": text("2024-02-29"),
};

describe("where a tag stands decides what becomes of it", () => {
  test.each([
    // bare: bound, no cast
    ["select {{params.id}}", "select $1 | BIGINT 42"],
    ["select {{{ params.id }}}, {{&params.name}}", "select $1, $2 | BIGINT 42 | VARCHAR O'Brien"],
    ["select -{{params.id}}::int", "select -$1::int | BIGINT 42"],
    ["select {{params.id}}{{params.id}}", "select $1 $1 | BIGINT 42"],
    // absent: NULL when bare, empty inside a literal
    ["select {{params.flag}}, '<{{params.flag}}>'", "select CAST(NULL AS BOOLEAN), $1 | VARCHAR <>"],
    // enum: the author's own text
    ["order by {{{params.sort}}} desc", "order by created_at desc"],
    ["select t.{{params.sort}}_x", "select t.created_at_x"],
    ['select "{{params.sort}}"', 'select "created_at"'],
    // literal, whole and part, one bound value
    ["where n = '{{{params.name}}}'", "where n = $1 | VARCHAR O'Brien"],
    ["where n like '%{{{params.name}}}%'", "where n like $1 | VARCHAR %O'Brien%"],
    ["where n = 'it''s {{{params.name}}}'''", "where n = $1 | VARCHAR it's O'Brien'"],
    ["where n = E'a\\n\\'{{{params.name}}}\\x41'", "where n = $1 | VARCHAR a\n'O'BrienA"],
    [
      "where n = $${{{params.name}}}'$$ and m = $x$ $$ {{params.id}}$x$",
      "where n = $1 and m = $2 | VARCHAR O'Brien' | VARCHAR  $$ 42",
    ],
    ["where d >= '{{{params.day}}} 00:00:00'", "where d >= $1 | VARCHAR 2024-02-29 00:00:00"],
    // literal after a type name
    ["where d = DATE '{{{params.day}}}'", "where d = CAST($1 AS DATE) | VARCHAR 2024-02-29"],
    ["select now() - interval '{{params.id}} days'", "select now() - CAST($1 AS interval) | VARCHAR 42 days"],
    ["select now() - INTERVAL '{{params.id}}' DAY", "select now() - INTERVAL ($1) DAY | VARCHAR 42"],
    [
      "select timestamp with time zone '{{params.day}}'",
      "select CAST($1 AS timestamp with time zone) | VARCHAR 2024-02-29",
    ],
    ["select decimal(10, 2) '{{params.id}}'", "select CAST($1 AS decimal(10, 2)) | VARCHAR 42"],
    ["select ts at time zone '{{params.name}}'", "select ts at time zone $1 | VARCHAR O'Brien"],
    ["select date -- x\n '{{params.day}}'", "select CAST($1 AS date) | VARCHAR 2024-02-29"],
    // literals without client values stay as they are
    ["select 'a''b', E'\\'', $$q$$, \"x\"\"y\"", "select 'a''b', E'\\'', $$q$$, \"x\"\"y\""],
    ["select * from '{{{conn.path}}}'", "select * from 'data/it''s.csv'"],
    ["select * from {{conn.table}}", "select * from main.t"],
    [
      "select * from read_csv('{{{conn.path}}}') where n = '{{{params.name}}}' and r = '{{env.REGION}}'",
      "select * from read_csv('data/it''s.csv') where n = $1 and r = 'EU' | VARCHAR O'Brien",
    ],
    ["select '{{env.REGION}}-{{params.id}}'", "select $1 | VARCHAR EU-42"],
    // comments render nothing
    ["select 1 -- {{params.id}} {{nonsense}}\n, {{params.id}}", "select 1 --  \n, $1 | BIGINT 42"],
    ["select /* /* {{params.id}} */ ' */ 2", "select /* /*  */ ' */ 2"],
    ["select 1 -- {{#params.id}} and x = {{params.id}} {{/params.id}}\n", "select 1 --  and x =  \n"],
    // sections
    ["select 1{{#params.id}} where id = {{params.id}}{{/params.id}}", "select 1 where id = $1 | BIGINT 42"],
    ["select 1{{^params.id}} where false{{/params.id}}", "select 1"],
    [
      "select 1{{#params.flag}} where false{{/params.flag}}{{^params.flag}} where true{{/params.flag}}",
      "select 1 where true",
    ],
    [
      "x {{#params.id}}a {{#params.flag}}b{{/params.flag}}{{^params.flag}}c {{params.id}}{{/params.flag}}{{/params.id}}",
      "x a c $1 | BIGINT 42",
    ],
    [
      "select '{{#params.id}}no {{params.id}}{{/params.id}}{{^params.id}}none{{/params.id}}!'",
      "select $1 | VARCHAR no 42!",
    ],
    [
      "{{#conn.path}}select 1{{/conn.path}}{{#conn.nope}}, 2{{/conn.nope}}{{^conn.nope}}, 3{{/conn.nope}}",
      "select 1, 3",
    ],
    ["select 1{{#params.id}} -- why{{/params.id}}\n, 2", "select 1 -- why\n\n, 2"],
    ["select 5 -{{#params.id}}- 3{{/params.id}}", "select 5 - - 3"],
    ["select 1{{#auth.authenticated}} where u = {{auth.username}}{{/auth.authenticated}}", "select 1"],
    // statements
    ["select 1; ;\n-- end\n", "select 1"],
    [
      "create temp table x as select '{{params.name}};'; select {{params.id}} ;",
      "create temp table x as select $1 | VARCHAR O'Brien; ;;  select $1  | BIGINT 42",
    ],
    // Mustache as Mustache
    ["{{=<% %>=}}select <%params.id%>, '{{'<%={{ }}=%>, {{params.id}}", "select $1, '{{', $1 | BIGINT 42"],
    ["select 'a'{{! comment }} as b", "select 'a' as b"],
    // a digit in a word
    ["from sales_{{params.id}}", "from sales_42"],
  ])("%s", (template, expected) => {
    expect(rendered(template, params)).toBe(expected);
  });

  test("inline: whole numbers as digits with room for a sign, literals of enums quoted", () => {
    expect(rendered("select 1 -{{params.id}} as '{{params.sort}}'", { ...params, "params.id": int(-5) }, true)).toBe(
      "select 1 -(-5) as 'created_at'",
    );
  });

  test("inline: text that no validator saw stays bound", () => {
    expect(rendered("select {{params.id}}", { "params.id": text("1; drop table t") }, true)).toBe(
      "select $1 | VARCHAR 1; drop table t",
    );
  });

  test("a signed number cannot become part of a word", () => {
    expect(() => rendered("from sales_{{params.id}}", { "params.id": int(-5) })).toThrow(RequestFailure);
  });
});

describe("places that cannot be made safe", () => {
  test.each([
    [
      "select * from '{{{params.name}}}'",
      [
        "14: a client value would choose the file or address that is read here; give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "select * from '{{{params.sort}}}.csv'",
      [
        "warning 14: a client value would choose the file or address that is read here; it can only be one of the enum's allowedValues",
      ],
    ],
    [
      "select * from read_parquet(['a', '{{{params.name}}}'])",
      [
        "33: a client value would choose the file or address that is read here; give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "select * from read_csv({{params.name}})",
      [
        "23: {{params.name}} would choose the file or address that is read here; give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "select * from read_csv('a.csv', delim = '{{params.name}}')",
      [
        "40: a client value would set an option of read_csv; give the parameter an enum validator with the allowedValues",
      ],
    ],
    ["select * from read_csv('a.csv', skip = {{params.id}}, delim = '{{params.sort}}')", []],
    [
      "select * from query_table('{{params.name}}')",
      [
        "26: a client value would choose what query_table uses; give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "select * from query_table({{params.id}})",
      [
        "26: {{params.id}} would choose what query_table uses; give the parameter an enum validator with the allowedValues",
      ],
    ],
    ["select * from query_table('{{params.sort}}')", []],
    [
      "select * from query('from ' || '{{params.name}}')",
      [
        "31: a client value would become part of the SQL that query runs; wrap it in sql_literal(...), or give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "select * from query('from ' || {{params.name}})",
      [
        "31: {{params.name}} would become part of the SQL that query runs; wrap it in sql_literal(...), or give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "select * from query('from \"it''s_{{params.name}}\"')",
      [
        "20: a client value would become part of the SQL that query runs; wrap it in sql_literal(...), or give the parameter an enum validator with the allowedValues",
      ],
    ],
    ["select * from query('from t limit {{params.id}}'), query('from {{params.sort}}')", []],
    [
      "select * from pragma_table_info('{{params.name}}')",
      [
        "32: a client value would choose what pragma_table_info uses; give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "select columns('{{params.name}}') from t",
      [
        "15: a client value would choose what columns uses; give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "select nextval('{{params.name}}')",
      [
        "15: a client value would choose what nextval uses; give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "select * from summary('{{params.name}}')",
      [
        "22: a client value would reach summary, which is not known to be safe with client values; give the parameter an enum validator with the allowedValues",
      ],
    ],
    ["select * from summary({{params.id}})", []],
    ["select * from range({{params.id}}), unnest(string_split('{{params.name}}', ','))", []],
    [
      "execute p('{{params.name}}')",
      [
        "10: a client value would reach EXECUTE, which is not known to be safe with client values; give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "copy t to ({{params.name}})",
      [
        "11: {{params.name}} would choose the file or address that is read here; give the parameter an enum validator with the allowedValues",
      ],
    ],
    ["copy (select * from t where n = '{{params.name}}' or n = {{params.name}}) to 'x.csv'", []],
    ["select 1 is distinct from '{{params.name}}', trim('x' from '{{params.name}}')", []],
    [
      "copy t to '{{params.name}}'",
      [
        "10: a client value would choose the file or address that is read here; give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      'select "{{params.name}}"',
      [
        "7: a client value would choose the column or table here; give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "select t_{{params.name}}",
      [
        "9: {{params.name}} touches a word, so it would choose a name; give the parameter an enum validator with the allowedValues",
      ],
    ],
    [
      "select $1, ?, $x",
      [
        "7: '$1' is a placeholder of prepared statements; values are written as tags, for example {{params.id}}",
        "11: '?' is a placeholder of prepared statements; values are written as tags, for example {{params.id}}",
        "14: '$x' is a placeholder of prepared statements; values are written as tags, for example {{params.id}}",
      ],
    ],
    ["select '{{#params.id}}a' || '{{/params.id}}'", ["23: a section inside quotes must not close them"]],
    [
      "select {{#params.id}}'a{{/params.id}}'",
      [
        "7: a section must not open or close quotes or comments; put the whole of them inside or outside",
        "37: this string literal is never closed",
      ],
    ],
    [
      "select 1 {{#params.id}}-- a{{/params.id}} , 2",
      ["9: a section must not end inside a comment; end the line before the section ends"],
    ],
    ["select 'abc", ["7: this string literal is never closed"]],
    ["select /* abc", ["13: a /* comment is never closed"]],
  ])("%s", (template, expected) => {
    expect(problemsOf(template)).toEqual(expected);
  });
});

describe("names", () => {
  test.each([
    ["{{id}}", ["0: unknown variable 'id'; write params.id"]],
    ["{{request.id}}", ["0: unknown variable 'request.id'; write params.id"]],
    ["{{nope}}", ["0: unknown variable 'nope'; names start with params., conn., auth., cache. or env."]],
    [
      "{{params.nope}}",
      [
        "0: params.nope is not declared under request (declared: params.id, params.flag, params.day, params.name, params.sort)",
      ],
    ],
    [
      "select 1 {{#params.nope}}{{params.nope}}{{/params.nope}}",
      [
        "warning 9: params.nope is not declared under request (declared: params.id, params.flag, params.day, params.name, params.sort), so it is never set here",
      ],
    ],
    ["{{conn.nope}}", ["0: unknown variable 'conn.nope'; properties of 'files': conn.path, conn.table"]],
    [
      "{{auth.nope}}",
      [
        "0: unknown variable 'auth.nope'; there are auth.username, auth.email, auth.roles, auth.type, auth.authenticated, auth.groups",
      ],
    ],
    ["{{env.HOME}}", ["0: Environment variable HOME not found; it is not listed in template.environment-whitelist"]],
    ["{{env.EMPTY}}", ["0: Environment variable EMPTY not found; it is not set"]],
    [
      "{{#if params.id}}x{{/if params.id}}",
      ["0: '{{#if}}' is Handlebars, templates are Mustache; write {{#params.id}}...{{/params.id}}"],
    ],
    [
      "select 1 {{#if params.id}}, 2{{else}}, 3{{/if}}",
      ["9: '{{#if}}' is Handlebars, templates are Mustache; write {{#params.id}}...{{/params.id}}"],
    ],
    [
      "{{#each params.id}}x{{/each}}",
      ["0: '{{#each}}' is Handlebars, templates are Mustache; write {{#params.id}}...{{/params.id}}"],
    ],
    [
      "{{else}}",
      ["0: '{{else}}' is Handlebars, templates are Mustache; write a second, inverted section {{^name}}...{{/name}}"],
    ],
    ["{{> header}}", ["0: partials ({{> header}}) are not supported; write the SQL out, or use a view"]],
    [
      "select {{#params.id}}",
      ['21: unclosed section "params.id"; every {{ needs its }} and every {{#section}} its {{/section}}'],
    ],
    ["select {{params.id", ["18: unclosed tag; every {{ needs its }} and every {{#section}} its {{/section}}"]],
  ])("%s", (template, expected) => {
    expect(problemsOf(template)).toEqual(expected);
  });
});

describe("SQL for somebody else", () => {
  const quoted = "select * from postgres_query('pg', 'select * from t where n = ''{{{params.name}}}''')";
  const refused = (template: string, value: string): boolean => {
    const { template: program } = compileTemplate(template, scope, dialect);
    try {
      render(program, (ref) => (ref.name === "name" ? text(value) : undefined), { dialect });
      return false;
    } catch (error) {
      expect((error as RequestFailure).failure).toEqual({
        kind: "invalid-params",
        errors: [{ field: "name", message: "Potential SQL injection detected" }],
      });
      return true;
    }
  };

  test.each([
    [quoted, "Table Mountain, 8001", false],
    [quoted, "O'Brien", true],
    [quoted, "a\\", true],
    [quoted, "a;b", true],
    [quoted, "a--b", true],
    [quoted, "a/*b", true],
    ["select * from postgres_query('pg', 'select * from {{{params.name}}}')", "customers", false],
    ["select * from postgres_query('pg', 'select * from {{{params.name}}}')", "customers where 1=1", true],
    ["select * from postgres_query('pg', 'select ' || {{params.name}})", "1'", true],
    ["select * from postgres_query('pg', 'select ' || {{params.name}})", "1 or true", true],
    ["select * from postgres_query('pg', {{params.name}})", "select 1", true],
    ["select * from postgres_query('pg', 'select ''' || {{params.name}} || '''')", "Table Mountain", false],
    ["select * from postgres_query('pg', 'select ''' || '{{params.name}}' || '''')", "Table Mountain", false],
    [
      "select * from postgres_query('pg', 'select ''' || upper('''') || {{params.name}} || '''')",
      "Table Mountain",
      true,
    ],
    ["select * from postgres_query('pg', 'select 1 -- it''s ' || {{params.name}})", "Table Mountain", true],
    ["select * from mysql_query('m', 'select ''it\\''s ' || {{params.name}} || '''')", "Table Mountain", false],
    ["select * from query('select ''{{{params.name}}}''')", "Table Mountain", false],
    ["select * from query('select ''{{{params.name}}}''')", "O'Brien", true],
    ["select * from query('select ' || sql_literal('{{{params.name}}}'))", "O'Brien; --", false],
    ["select * from query('select ' || sql_literal({{params.name}}))", "O'Brien; --", false],
    ["select * from query('select ' || sql_literal({{params.name}}))", "a\0b", true],
    ["select * from query('select ' || sql_literal('{{{params.name}}}'))", "a\0b", true],
  ])("%s with %s refused: %s", (template, value, expected) => {
    expect(refused(template, value)).toBe(expected);
  });

  test("the macro fits the other side", () => {
    expect(rendered("select * from mysql_query('m', 'select ' || sql_literal({{params.name}}))", params)).toBe(
      "select * from mysql_query('m', 'select ' || sql_literal_backslash_and_quote($1)) | VARCHAR O'Brien",
    );
  });

  test("check warns and shows the wrapped form", () => {
    expect(problemsOf(quoted)).toEqual([expect.stringContaining("sql_literal('{{{params.x}}}')")]);
  });
});

test("a value in SQL for another database keeps its check where values are inlined", () => {
  const uuid = { ...scope, types: new Map([["name", "UUID"] as const]) };
  const { template } = compileTemplate("select * from postgres_query('pg', {{params.name}})", uuid, dialect);
  const inlined = withRendering(template, { boundEnums: new Set(), inlinesTyped: true });
  // Text that no validator saw, as with validate-before-write: false.
  expect(() => render(inlined, () => text("1; drop table t"), { dialect })).toThrow(RequestFailure);
});
