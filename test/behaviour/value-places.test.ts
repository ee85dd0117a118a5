import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoint, type Files, problemsFrom, serviceFrom, type TestService } from "../service.ts";

/** Where a value may stand in SQL, and what DuckDB makes of it there. */
const MAIN = `connections:
  memory:
    init: |
      CREATE TABLE o (id INTEGER, status VARCHAR, day DATE, amount DECIMAL(10, 2), tags INTEGER[]);
      INSERT INTO o VALUES (1, 'open', '2024-01-01', 1.50, [1, 2]), (2, 'done', '2024-01-20', 2.50, [3]),
        (3, 'open', '2024-02-03', 4.00, []), (4, 'it''s', NULL, NULL, NULL);
`;

type Validators = Readonly<Record<string, string>>;

function request(validators: Validators): string {
  const entries = Object.entries(validators).map(
    ([name, list]) => `  - { field-name: ${name}, field-in: query${list === "" ? "" : `, validators: [${list}]`} }\n`,
  );
  return `with-pagination: false\nrequest:\n${entries.join("")}`;
}

const STATUS = "{ type: enum, allowedValues: [open, done, it's] }";
const SORT = "{ type: enum, allowedValues: [id, amount desc] }";

const works: readonly (readonly [sql: string, validators: Validators, query: string, rows: unknown])[] = [
  // A bare enum: a value where it can only be one, else the author's text.
  ["SELECT id FROM o WHERE status = {{params.s}} ORDER BY id", { s: STATUS }, "s=open", [{ id: 1 }, { id: 3 }]],
  ["SELECT id FROM o WHERE status = {{params.s}}", { s: STATUS }, "s=it%27s", [{ id: 4 }]],
  ["SELECT id FROM o WHERE status IN ({{{params.s}}}, 'x') AND id < 3", { s: STATUS }, "s=done", [{ id: 2 }]],
  ["SELECT id FROM o WHERE id < 3 ORDER BY {{params.by}}", { by: SORT }, "by=amount+desc", [{ id: 2 }, { id: 1 }]],
  [
    "SELECT id FROM o WHERE status = {{params.s}} ORDER BY {{params.by}}",
    { s: STATUS, by: SORT },
    "s=open&by=amount+desc",
    [{ id: 3 }, { id: 1 }],
  ],
  [
    "SELECT {{params.c}} AS c, '{{params.c}}' AS name FROM o WHERE id = 1",
    { c: "{ type: enum, allowedValues: [status, day] }" },
    "c=day",
    [{ c: "2024-01-01", name: "day" }],
  ],
  ["SELECT id FROM {{params.t}} WHERE id = 1", { t: "{ type: enum, allowedValues: [o] }" }, "t=o", [{ id: 1 }]],
  ["SELECT id FROM o WHERE id = {{params.n}}", { n: "{ type: enum, allowedValues: ['1', '2'] }" }, "n=2", [{ id: 2 }]],
  [
    "SELECT id FROM o WHERE day = {{params.d}}",
    { d: "{ type: enum, allowedValues: ['2024-01-20'] }" },
    "d=2024-01-20",
    [{ id: 2 }],
  ],
  // One parameter at several places is the same expression.
  [
    "SELECT date_trunc('{{{params.v}}}', day) AS g, count(*) AS n FROM o GROUP BY date_trunc('{{{params.v}}}', day) ORDER BY g",
    { v: "" },
    "v=month",
    [
      { g: "2024-01-01T00:00:00", n: 2 },
      { g: "2024-02-01T00:00:00", n: 1 },
      { g: null, n: 1 },
    ],
  ],
  [
    "SELECT date_trunc({{params.v}}, day) AS g, count(*) AS n FROM o WHERE id < 3 GROUP BY date_trunc({{params.v}}, day)",
    { v: "{ type: string }" },
    "v=year",
    [{ g: "2024-01-01T00:00:00", n: 2 }],
  ],
  [
    "SELECT id % {{params.n}} AS g, count(*) AS n FROM o GROUP BY id % {{params.n}} ORDER BY g",
    { n: "{ type: int }" },
    "n=2",
    [
      { g: 0, n: 2 },
      { g: 1, n: 2 },
    ],
  ],
  [
    "SELECT CASE WHEN id > {{params.n}} THEN 'more' ELSE 'less' END AS g, count(*) AS n FROM o GROUP BY CASE WHEN id > {{params.n}} THEN 'more' ELSE 'less' END ORDER BY 1",
    { n: "{ type: int }" },
    "n=1",
    [
      { g: "less", n: 1 },
      { g: "more", n: 3 },
    ],
  ],
  [
    "SELECT id % {{params.n}} AS g, sum(amount) AS s FROM o WHERE id < 4 GROUP BY ALL ORDER BY id % {{params.n}} DESC",
    { n: "{ type: int }" },
    "n=2",
    [
      { g: 1, s: 5.5 },
      { g: 0, s: 2.5 },
    ],
  ],
  [
    "SELECT status || '-{{params.v}}' AS g FROM o GROUP BY status || '-{{params.v}}' HAVING count(*) > 1",
    { v: "" },
    "v=%27x",
    [{ g: "open-'x" }],
  ],
  // The same text means what each place makes of it.
  ["SELECT id, {{params.v}} AS v FROM o WHERE id = {{params.v}}", { v: "" }, "v=02", [{ id: 2, v: "02" }]],
  ["SELECT id FROM o WHERE id = {{params.v}} OR status = {{params.v}}", { v: "" }, "v=03", [{ id: 3 }]],
  // Statements without parameters: literals of types that hold no quote.
  [
    "PIVOT (SELECT status, amount FROM o WHERE id <= {{params.n}}) ON status USING sum(amount)",
    { n: "{ type: int }" },
    "n=2",
    [{ done: 2.5, open: 1.5 }],
  ],
  [
    "PIVOT (FROM o SELECT status, amount WHERE amount < {{params.n}}) ON status USING sum(amount)",
    { n: "{ type: number }" },
    "n=1.75",
    [{ open: 1.5 }],
  ],
  [
    "PIVOT (FROM o SELECT status, amount WHERE amount < {{params.n}}) ON status USING sum(amount)",
    { n: "{ type: number }" },
    "n=17.5e-1",
    [{ open: 1.5 }],
  ],
  [
    "PIVOT (FROM o SELECT status, amount WHERE day < {{params.d}}) ON status USING sum(amount)",
    { d: "{ type: date }" },
    "d=2024-01-02",
    [{ open: 1.5 }],
  ],
  [
    "PIVOT (FROM o SELECT status, id WHERE (day IS NULL) = {{params.b}}) ON status USING sum(id)",
    { b: "{ type: boolean }" },
    "b=true",
    [{ "it's": 4 }],
  ],
  [
    "PIVOT (FROM o SELECT status, id WHERE TIME '12:00:00' < {{params.t}} AND id = 1) ON status USING sum(id)",
    { t: "{ type: time }" },
    "t=12:00:01",
    [{ open: 1 }],
  ],
  [
    "PIVOT (FROM o SELECT status, id WHERE uuid() <> {{params.u}} AND id = 1) ON status USING sum(id)",
    { u: "{ type: uuid }" },
    "u=00000000-0000-0000-0000-000000000001",
    [{ open: 1 }],
  ],
  [
    "PIVOT (FROM o SELECT status, id WHERE status = {{params.s}}) ON status USING sum(id)",
    { s: STATUS },
    "s=done",
    [{ done: 2 }],
  ],
  [
    "PIVOT (FROM o SELECT status, id WHERE status = '{{{params.s}}}') ON status USING sum(id)",
    { s: STATUS },
    "s=it%27s",
    [{ "it's": 4 }],
  ],
  [
    "PIVOT (FROM o SELECT status, id WHERE id > {{params.n}}) ON status IN ('open', 'done') USING sum(id)",
    { n: "{ type: int }" },
    "n=1",
    [{ open: 3, done: 2 }],
  ],
  ["SELECT count(*) AS n FROM o USING SAMPLE {{params.n}} ROWS", { n: "{ type: int }" }, "n=10", [{ n: 4 }]],
  // An absent parameter is NULL of its type.
  ["SELECT {{params.d}} + INTERVAL 1 DAY AS x", { d: "{ type: date }" }, "", [{ x: null }]],
  ["SELECT round({{params.n}}, 1) AS x", { n: "{ type: number }" }, "", [{ x: null }]],
  ["SELECT coalesce({{params.n}}, amount) AS x FROM o WHERE id = 1", { n: "{ type: number }" }, "", [{ x: 1.5 }]],
  [
    "SELECT -{{params.n}} AS x, {{params.b}} AND true AS b",
    { n: "{ type: int }", b: "{ type: boolean }" },
    "",
    [{ x: null, b: null }],
  ],
  ["SELECT id FROM o WHERE id = {{params.v}} OR ({{params.v}} IS NULL AND id = 4)", { v: "" }, "", [{ id: 4 }]],
  [
    "SELECT id FROM o ORDER BY id LIMIT {{params.n}}",
    { n: "{ type: int }" },
    "",
    [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }],
  ],
  // What DuckDB runs is not refused.
  ["SELECT quantile_cont(amount, {{params.x}}) AS q FROM o", { x: "{ type: number }" }, "x=0.5", [{ q: 2.5 }]],
  ["SELECT approx_quantile(amount, {{params.x}}) AS q FROM o", { x: "{ type: number }" }, "x=0.5", [{ q: 3 }]],
  [
    "SELECT list_aggregate(tags, '{{{params.f}}}') AS x FROM o WHERE id = 1",
    { f: "{ type: enum, allowedValues: [sum, max] }" },
    "f=max",
    [{ x: 2 }],
  ],
];

describe("works", () => {
  let service: TestService;
  beforeAll(async () => {
    const files: Files[] = works.map(([sql, validators], index) => ({
      [`e${index}.yaml`]: `url-path: /e${index}\ntemplate-source: e${index}.sql\nconnection: [memory]\n${request(validators)}`,
      [`e${index}.sql`]: sql,
    }));
    service = await serviceFrom(Object.assign({ "eider.yaml": MAIN }, ...files));
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  test.each(works.map(([sql, , query, rows], index) => [sql, query, rows, index] as const))(
    "%s with %s",
    async (_sql, query, rows, index) => {
      expect(await service.json(`/e${index}?${query}`)).toEqual(rows);
      // A second time: with another value the same statement may be at hand.
      expect(await service.json(`/e${index}?${query}`)).toEqual(rows);
    },
  );

  test("nothing is wrong with any of them, but that some need their parameter", () => {
    expect(service.problems.filter((problem) => !problem.includes("when no optional parameter is set"))).toEqual([]);
  });
});

const NO_VALUE = "SQL does not accept a bound value here";

describe("is refused, and says why", () => {
  test.each<[string, Validators, RegExp]>([
    [
      "SELECT {{params.p}} - 1 AS x",
      { p: "" },
      /x\.sql:1:21: .*"-\(STRING_LITERAL, INTEGER_LITERAL\)".*; give the parameter a validator such as type: int/s,
    ],
    [
      "SELECT amount * {{params.p}} AS x FROM o",
      { p: "" },
      /\*\(DECIMAL\(10,2\), STRING_LITERAL\).*validator such as type: int/s,
    ],
    [
      "SELECT round({{params.p}}, 1) AS x",
      { p: "" },
      /round\(STRING_LITERAL, INTEGER_LITERAL\).*validator such as type: int/s,
    ],
    ["INSERT INTO o (id) VALUES ({{params.p}} - 1)", { p: "" }, /"-\(STRING_LITERAL, INTEGER_LITERAL\)".*validator/s],
    ["SELECT status LIKE {{params.n}} AS x FROM o", { n: "{ type: int }" }, /~~\(VARCHAR, BIGINT\)/],
    [
      "SELECT list_aggregate(tags, '{{{params.v}}}') AS x FROM o",
      { v: "" },
      new RegExp(
        `x\\.sql:1:29: ${NO_VALUE} \\({{params.v}}\\); give the parameter an enum validator with the allowedValues`,
      ),
    ],
    [
      "PIVOT (FROM o SELECT status, id WHERE status = {{params.s}}) ON status USING sum(id)",
      { s: "{ type: string }" },
      new RegExp(`x\\.sql:1:48: ${NO_VALUE} \\({{params.s}}\\).*enum`),
    ],
    [
      "SELECT id FROM o WHERE status = {{params.s}} ORDER BY {{params.by}}",
      { s: "", by: "" },
      new RegExp(`x\\.sql:1:55: ${NO_VALUE} \\({{params.by}}\\)`),
    ],
    // One who has an enum is not told to make one.
    ["SELECT id FROM o ORDER BY '{{{params.v}}}'", { v: SORT }, /write \{\{\{params\.v\}\}\} without the quotes$/],
    [
      "SELECT id FROM o ORDER BY {{params.v}}",
      { v: "{ type: enum, allowedValues: [id, nope] }" },
      /"nope" not found.*with \{\{params\.v\}\} as a value: SQL does not accept a bound value here \(\{\{params\.v\}\}\)$/s,
    ],
  ])("%s", async (sql, validators, expected) => {
    const write = sql.startsWith("INSERT") ? "method: POST\n" : "";
    const problems = await problemsFrom({ "eider.yaml": MAIN, ...endpoint(sql, write + request(validators)) });
    const errors = problems.filter((problem) => !problem.includes(" warning: "));
    expect(errors).toEqual([expect.stringMatching(expected)]);
  });

  test("an enum of which only some values are names is a value, with a warning", async () => {
    const sql = "SELECT {{params.c}} AS c FROM o WHERE id = 1";
    const yaml = request({ c: "{ type: enum, allowedValues: [status, sttaus] }" });
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...endpoint(sql, yaml) });
    expect(await service.json("/x?c=status")).toEqual([{ c: "status" }]);
    expect(service.problems).toEqual([
      expect.stringMatching(/warning: .*"sttaus" not found.*\{\{params\.c\}\} is compared as a value/s),
    ]);
  });
});
