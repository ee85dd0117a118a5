import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engine } from "../../src/engines/index.ts";
import { compileTemplate } from "../../src/sql/compile-template.ts";
import { render } from "../../src/sql/render.ts";
import { withRendering } from "../../src/sql/rendering.ts";
import type { TemplateScope } from "../../src/sql/scope.ts";
import { serviceFrom, type TestService } from "../service.ts";

/** Every supported place, inside and outside sections; each shows the value as DuckDB sees it in column `v`. */
const places: Readonly<Record<string, string>> = {
  bare: "SELECT {{params.v}} AS v",
  "bare, triple": "SELECT {{{params.v}}} AS v",
  "in a section": "SELECT {{#params.v}}{{{params.v}}}{{/params.v}} AS v",
  literal: "SELECT '{{{params.v}}}' AS v",
  "literal in a section": "SELECT {{#params.v}}'{{{params.v}}}'{{/params.v}} AS v",
  "section in a literal": "SELECT '{{#params.v}}{{{params.v}}}{{/params.v}}' AS v",
  "part of a literal": "SELECT substr(x, 4, length(x) - 6) AS v FROM (SELECT 'a''b{{{params.v}}}''--' AS x)",
  "escape literal": "SELECT substr(E'\\n\\'{{{params.v}}}', 3) AS v",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a dollar quote beside a tag
  "dollar literal": "SELECT $q${{{params.v}}}$q$ AS v",
  "plain dollar literal": "SELECT $${{{params.v}}}$$ AS v",
  where: "SELECT v FROM (SELECT {{params.v}} AS v) WHERE v = '{{{params.v}}}'",
  "in a comment too": "SELECT /* {{{params.v}}} */ '{{{params.v}}}' AS v -- {{{params.v}}}",
  "after another value": "SELECT {{params.v}} || '' AS v, '{{{params.v}}}' AS w",
  "argument of a function": "SELECT concat('{{{params.v}}}', {{#params.v}}''{{/params.v}}) AS v",
  "several statements": "CREATE TEMP TABLE t AS SELECT '{{{params.v}}}' AS v; SELECT v FROM t WHERE v = {{params.v}};",
  "for another database": "SELECT * FROM query('SELECT ' || sql_literal({{params.v}}) || ' AS v')",
};

const attacks = [
  "'",
  '"',
  "\\",
  "$$",
  "$q$",
  "--",
  "/*",
  "*/",
  ";",
  "\0",
  "\n",
  "{{",
  "}}",
  "${",
  "?",
  "$1",
  "😀",
  "\u{1F468}\u200D",
  "é",
  "%",
  "' OR '1'='1",
  "'); DROP TABLE t; --",
  "\u2028",
  "\ufeff",
];
const attack = fc.constantFrom(...attacks);
const anyText = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 40 }).map((text) => text.toWellFormed()),
  fc
    .array(fc.oneof(attack, fc.string({ unit: "grapheme-ascii", maxLength: 4 })), { maxLength: 12 })
    .map((parts) => parts.join("")),
);

let service: TestService;

beforeAll(async () => {
  const files: Record<string, string> = {};
  Object.values(places).forEach((sql, index) => {
    files[`p${index}.yaml`] = [
      `url-path: /p${index}`,
      "method: POST",
      "operation: { type: Read }",
      "with-pagination: false",
      `template-source: p${index}.sql`,
      "connection: [memory]",
      "request: [{ field-name: v, field-in: body }]",
    ].join("\n");
    files[`p${index}.sql`] = sql;
  });
  service = await serviceFrom(files);
});
afterAll(() => service[Symbol.asyncDispose]());

describe.each(Object.keys(places).map((name, index) => [name, index] as const))("%s", (name, index) => {
  // SQL text for another database cannot hold a NUL: such a value is refused (2.10-templates.test.ts).
  const sendable = (text: string): string => (name === "for another database" ? text.replaceAll("\0", "") : text);

  test("DuckDB sees the value that was sent", async () => {
    await fc.assert(
      fc.asyncProperty(anyText.map(sendable), async (v) => {
        const answer = await service.request(`/p${index}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ v }),
        });
        const rows = await answer.json();
        expect(rows).toEqual([expect.objectContaining({ v })]);
      }),
      { numRuns: 25, examples: [[sendable(attacks.join(" "))], [sendable(attacks.toReversed().join(""))]] },
    );
  });
});

test("no value changes the SQL: it is the same text, statement by statement, for all of them", () => {
  const scope: TemplateScope = {
    params: new Map([["v", "text"]]),
    conn: new Map(),
    connectionName: undefined,
    cache: new Map(),
    environment: () => "unlisted",
  };
  for (const sql of Object.values(places)) {
    const { template } = compileTemplate(sql, scope, engine.dialect);
    const inlined = withRendering(template, { boundEnums: new Set(), inlinesTyped: true });
    const textsFor = (text: string) =>
      render(inlined, () => ({ text, type: "VARCHAR", value: text }), { dialect: engine.dialect }).map(
        (statement) => statement.sql,
      );
    const expected = textsFor("plain");
    fc.assert(
      fc.property(anyText, (text) => {
        // Text that another database would run is refused where it could change anything there.
        if (!text.includes("\0")) expect(textsFor(text)).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  }
});
