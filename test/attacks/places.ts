/** A row that every place for a text shows at once, and what stands in it when the text arrived unchanged. */
export interface Echo {
  readonly sql: string;
  readonly expected: (text: string) => Readonly<Record<string, unknown>>;
}

/** Every template position that accepts any string (docs/sql-templates.md); `name` is the variable, `params.v`. */
export function echo(name: string): Echo {
  return {
    sql: `SELECT {{${name}}} AS bare,
  {{{${name}}}} AS triple,
  {{&${name}}} AS ampersand,
  {{#${name}}}{{{${name}}}}{{/${name}}}{{^${name}}}'absent'{{/${name}}} AS section,
  '{{{${name}}}}' AS quoted,
  '{{${name}}}' AS quoted_double,
  '{{#${name}}}{{{${name}}}}{{/${name}}}' AS section_in_quotes,
  '<{{{${name}}}}>' AS part,
  'it''s -- {{{${name}}}} /* '';' AS part_like_sql,
  '{{{${name}}}}{{{${name}}}}' AS twice,
  E'\\n\\'{{{${name}}}}\\\\' AS escapes,
  $$\{{{${name}}}}$$ AS dollars,
  $q$-{{{${name}}}}-$q$ AS tagged_dollars,
  VARCHAR '{{{${name}}}}' AS typed,
  TRY(DATE '{{{${name}}}}') IS NULL AS no_day,
  {{${name}}} LIKE '{{{${name}}}}' AS matches,
  '{{{${name}}}}' IN ('other', '{{{${name}}}}') AS listed,
  list_contains(string_split('{{{${name}}}}', ','), 'no such part') AS split,
  concat({{${name}}}, '') AS argument,
  (SELECT count(*) FROM canary WHERE name LIKE 'no such name {{{${name}}}}') AS none,
  (SELECT count(*) FROM canary WHERE name = '{{{${name}}}}' AND id < 0) AS guarded,
  /* {{{${name}}}} */ 1 AS after_comment -- {{{${name}}}}
`,
    expected: (text) => ({
      bare: text,
      triple: text,
      ampersand: text,
      section: text,
      quoted: text,
      quoted_double: text,
      section_in_quotes: text,
      part: `<${text}>`,
      part_like_sql: `it's -- ${text} /* ';`,
      twice: text + text,
      escapes: `\n'${text}\\`,
      dollars: text,
      tagged_dollars: `-${text}-`,
      typed: text,
      no_day: true,
      matches: true,
      listed: true,
      split: false,
      argument: text,
      none: 0,
      guarded: 0,
      after_comment: 1,
    }),
  };
}

/** A few of them, where another test has tried them all with the same sender. */
export function briefEcho(name: string): Echo {
  return {
    sql: `SELECT {{${name}}} AS bare, '{{{${name}}}}' AS quoted, '<{{{${name}}}}>' AS part`,
    expected: (text) => ({ bare: text, quoted: text, part: `<${text}>` }),
  };
}

/** SQL that another parser reads: quoted for it, or not. */
export function secondOrder(name: string): { readonly wrapped: string; readonly unwrapped: string } {
  return {
    wrapped: `SELECT * FROM query('SELECT ' || sql_literal({{${name}}}) || ' AS v, ' || sql_literal('<{{{${name}}}}>') || ' AS part')`,
    unwrapped: `SELECT * FROM query('SELECT ''{{{${name}}}}'' AS v')`,
  };
}

/** A write, in two places; it answers with what it wrote. */
export function write(name: string): string {
  return `INSERT INTO notes VALUES ({{${name}}}, '<{{{${name}}}}>') RETURNING bare, part`;
}

/** Validators that take any text, and some that take hardly any. */
export const textValidators = {
  none: "",
  string: "[{ type: string }]",
  bounded: "[{ type: string, min: 0, max: 5000, regex: '(?s).*' }]",
  unscanned: "[{ type: string, preventSqlInjection: false }]",
} as const;

export const narrowValidators = {
  an_int: "[{ type: int }]",
  a_number: "[{ type: number }]",
  a_boolean: "[{ type: boolean }]",
  a_date: "[{ type: date }]",
  a_time: "[{ type: time }]",
  a_uuid: "[{ type: uuid }]",
  an_email: "[{ type: email }]",
  an_enum: "[{ type: enum, allowedValues: [name, id] }]",
  a_word: "[{ type: string, regex: '[a-z]{1,8}' }]",
} as const;
