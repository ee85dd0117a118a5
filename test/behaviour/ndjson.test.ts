import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { json } from "../../src/formats/json/json.ts";
import { ndjson } from "../../src/formats/ndjson/ndjson.ts";
import { serviceFrom, type TestService } from "../service.ts";
import { openTextDatabase, sqlText, type TextDatabase } from "./text-rows.ts";

let database: TextDatabase;
let service: TestService;

beforeAll(async () => {
  database = await openTextDatabase();
  const endpoint = (name: string, yaml: string): string =>
    `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: memory\n${yaml}`;
  service = await serviceFrom({
    "types.yaml": endpoint("types", "with-pagination: false\n"),
    "types.sql": "SELECT * FROM test_all_types()",
    "empty.yaml": endpoint("empty", "with-pagination: false\n"),
    "empty.sql": "SELECT 1 AS a WHERE false",
    "many.yaml": endpoint("many", "with-pagination: false\n"),
    "many.sql": "SELECT n, 'row' || chr(10) || n AS s, [n, NULL] AS l FROM range(5000) r(n)",
    "page.yaml": endpoint("page", ""),
    "page.sql": "SELECT n FROM range(3) r(n) ORDER BY n",
  });
});
afterAll(() => service?.[Symbol.asyncDispose]());

/** Every line ends with a line feed, the last too. */
function linesOf(text: string): string[] {
  const lines = text.split("\n");
  expect(lines.pop()).toBe("");
  return lines;
}

test("says what it is, and has no envelope", async () => {
  const answer = await service.get("/page?format=ndjson&limit=2&offset=1");
  expect(answer.headers.get("content-type")).toBe("application/x-ndjson");
  expect(await answer.text()).toBe('{"n":1}\n{"n":2}\n');
  expect(answer.headers.get("x-total-count")).toBe("3");
});

test("no rows are an empty body", async () => {
  const answer = await service.get("/empty?format=ndjson");
  expect(answer.status).toBe(200);
  expect(await answer.text()).toBe("");
});

test.each(["/types", "/many"])("%s: the lines are the rows of JSON, to the letter", async (path) => {
  const lines = linesOf(await (await service.get(`${path}?format=ndjson`)).text());
  const whole = await (await service.get(path)).text();
  expect(lines.map((line) => JSON.parse(line))).toEqual(JSON.parse(whole));
  expect(`[${lines.join(",")}]`).toBe(whole);
});

test("rows cross the borders of chunks", async () => {
  const lines = linesOf(await (await service.get("/many?format=ndjson")).text());
  const expected = Array.from({ length: 5000 }, (_, n) => ({ n, s: `row\n${n}`, l: [n, null] }));
  expect(lines.map((line) => JSON.parse(line))).toEqual(expected);
});

test("no line breaks stand inside a line, whatever names and values are", async () => {
  const sql = `SELECT 1 AS "a\nb", 2 AS "a\nb", '[1,\n2]'::JSON AS j, {'x\n': chr(13)} AS s`;
  expect(await database.text(ndjson, sql)).toBe('{"a\\nb":1,"a\\nb_1":2,"j":[1,2],"s":{"x\\n":"\\r"}}\n');
});

test("random texts are those of JSON", async () => {
  const text = fc.option(fc.string({ unit: "binary", maxLength: 30 }).map((value) => value.toWellFormed()));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 30 }), async (rows) => {
      const literals = rows.map(([a, b]) => `(${sqlText(a)}::VARCHAR, ${sqlText(b)}::VARCHAR)`).join(",");
      const sql = `SELECT * FROM (VALUES ${literals}) t(a, b)`;
      const lines = linesOf(await database.text(ndjson, sql));
      expect(lines.map((line) => JSON.parse(line))).toEqual(rows.map(([a, b]) => ({ a, b })));
      expect(`[${lines.join(",")}]`).toBe(await database.text(json, sql));
    }),
    { numRuns: 50 },
  );
});
