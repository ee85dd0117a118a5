import { describe, expect, test } from "vitest";
import { problemsFrom, serviceFrom } from "../service.ts";
import { bodyFields, INT, mainFile, outcome, route, send } from "./write-project.ts";

const MAIN = mainFile("CREATE TABLE t (id INTEGER, name VARCHAR); INSERT INTO t VALUES (1, 'one'), (2, 'two');");
const ROWS = route("GET /rows", "SELECT id, name FROM t ORDER BY id, name");
const ROW = bodyFields({ id: INT, name: "" });
const INSERT = "INSERT INTO t VALUES ({{params.id}}, '{{{params.name}}}')";

describe("methods that write", () => {
  const BY_ID =
    "request:\n  - { field-name: id, field-in: path, validators: [{ type: int }] }\n  - { field-name: name, field-in: body }\n";
  const files = {
    ...MAIN,
    ...ROWS,
    ...route("POST /rows", INSERT, ROW),
    ...route("PUT /rows/:id", "UPDATE t SET name = '{{{params.name}}}' WHERE id = {{params.id}}", BY_ID),
    ...route("PATCH /rows/:id", "UPDATE t SET name = name || '{{{params.name}}}' WHERE id = {{params.id}}", BY_ID),
    ...route("DELETE /rows/:id", "DELETE FROM t WHERE id = {{params.id}}", BY_ID),
  };

  test("each runs its template, and answers what it did", async () => {
    await using service = await serviceFrom(files);
    expect(await outcome(service, "POST /rows", { id: 3, name: "three" })).toEqual([200, { rows_affected: 1 }]);
    expect(await outcome(service, "PUT /rows/1", { name: "first" })).toEqual([200, { rows_affected: 1 }]);
    expect(await outcome(service, "PATCH /rows/1", { name: "!" })).toEqual([200, { rows_affected: 1 }]);
    expect(await outcome(service, "DELETE /rows/2")).toEqual([200, { rows_affected: 1 }]);
    expect(await service.json("/rows")).toEqual([
      { id: 1, name: "first!" },
      { id: 3, name: "three" },
    ]);
    expect(await outcome(service, "DELETE /rows/2")).toEqual([200, { rows_affected: 0 }]);
    expect(await outcome(service, "PUT /rows/9", { name: "nobody" })).toEqual([200, { rows_affected: 0 }]);
  });

  test("the head of the answer", async () => {
    await using service = await serviceFrom(files);
    const { headers, text } = await send(service, "POST /rows", { id: 3, name: "three" });
    expect(text).toBe('{"rows_affected":1}');
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("content-length")).toBe(String(text.length));
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    for (const name of ["etag", "x-total-count", "x-next", "x-limit"]) expect(headers.get(name), name).toBe(null);
  });

  test("the same request again is run again", async () => {
    await using service = await serviceFrom(files);
    for (let time = 0; time < 10; time++) {
      expect(await outcome(service, "POST /rows", { id: 7, name: "again" })).toEqual([200, { rows_affected: 1 }]);
    }
    expect(await service.json("/rows")).toHaveLength(12);
  });

  test("a method in any case, and 405 for those that are not there", async () => {
    await using service = await serviceFrom({ ...MAIN, ...ROWS, ...route("pOsT /rows", INSERT, ROW) });
    expect(await outcome(service, "POST /rows", { id: 3 })).toEqual([200, { rows_affected: 1 }]);
    const refused = await send(service, "DELETE /rows");
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, expect.stringMatching(/\bPOST\b/)]);
  });
});

describe("operation.type", () => {
  test.each(["Read", "read", "READ", "rEAd"])("%s on POST: a read with a body", async (type) => {
    const yaml = `operation: { type: ${type} }\n${bodyFields({ least: INT })}`;
    const sql = "SELECT id, name FROM t WHERE id >= {{params.least}} ORDER BY id";
    const paged = route("POST /paged", sql, yaml);
    await using service = await serviceFrom({
      ...MAIN,
      ...route("POST /find", sql, yaml),
      ...paged,
      "post-paged.yaml": paged["post-paged.yaml"]?.replace("with-pagination: false", "with-pagination: true") ?? "",
    });
    expect(await outcome(service, "POST /find", { least: 2 })).toEqual([200, [{ id: 2, name: "two" }]]);
    expect(await outcome(service, "POST /paged?limit=1", { least: 1 })).toEqual([
      200,
      { data: [{ id: 1, name: "one" }], next: "/paged?limit=1&offset=1", total_count: 2 },
    ]);
    // A read has every format.
    const csv = await send(service, "POST /find", { least: 2 }, { Accept: "text/csv" });
    expect([csv.status, csv.text]).toEqual([200, "id,name\r\n2,two\r\n"]);
    // The body is what tells two of them apart.
    for (let time = 0; time < 4; time++) {
      expect((await outcome(service, "POST /find", { least: 1 }))[1]).toHaveLength(2);
      expect((await outcome(service, "POST /find", { least: 3 }))[1]).toHaveLength(0);
    }
  });

  test("Read on POST must not change anything", async () => {
    const problems = await problemsFrom({
      ...MAIN,
      ...route("POST /rows", INSERT, `operation: { type: Read }\n${ROW}`),
    });
    expect(problems).toEqual([expect.stringMatching(/^post-rows\.sql:1:1: .*must not change the database \(INSERT\)/)]);
  });

  test.each(["Write", "write", "WRITE", "wRiTe"])("%s on GET: it writes, each time", async (type) => {
    await using service = await serviceFrom({
      ...MAIN,
      ...ROWS,
      ...route("GET /visit", "UPDATE t SET id = id + 10 WHERE name = 'two'", `operation: { type: ${type} }\n`),
    });
    let etag: string | undefined;
    for (let time = 0; time < 5; time++) {
      const { status, text, headers } = await send(
        service,
        "GET /visit",
        undefined,
        etag ? { "If-None-Match": etag } : {},
      );
      expect([status, text]).toEqual([200, '{"rows_affected":1}']);
      etag = headers.get("etag") ?? '"x"';
    }
    expect(await service.json("/rows")).toEqual([
      { id: 1, name: "one" },
      { id: 52, name: "two" },
    ]);
  });

  test("a GET that changes something and does not say so is refused at load", async () => {
    const problems = await problemsFrom({ ...MAIN, ...route("GET /visit", "DELETE FROM t") });
    expect(problems).toEqual([expect.stringMatching(/^get-visit\.sql:1:1: .*set operation\.type: Write/)]);
  });

  test("HEAD of a GET that writes is refused, and changes nothing", async () => {
    await using service = await serviceFrom({
      ...MAIN,
      ...route("GET /rows", "SELECT count(*)::INTEGER AS n FROM t"),
      ...route("GET /clear", "DELETE FROM t", "operation: { type: Write }\n"),
    });
    const before = await service.json("/rows");
    const answer = await service.request("/clear", { method: "HEAD" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, OPTIONS"]);
    expect(await service.json("/rows")).toEqual(before);
  });

  test.each(["BEGIN; DELETE FROM t; COMMIT", "DELETE FROM t;\nROLLBACK", "start transaction; DELETE FROM t; end"])(
    "transactions are the service's own: %s",
    async (sql) => {
      for (const transaction of [true, false]) {
        const yaml = `operation: { transaction: ${transaction} }\n`;
        const problems = await problemsFrom({ ...MAIN, ...route("POST /x", sql, yaml) });
        expect(problems.length).toBeGreaterThan(0);
        for (const problem of problems) {
          expect(problem).toMatch(/^post-x\.sql:\d+:\d+: a template must not begin or end a transaction \(/);
        }
      }
    },
  );

  test("Write on POST is what it is anyway", async () => {
    const yaml = `operation: { type: write, returns-data: false, transaction: true, validate-before-write: true }\n${ROW}`;
    await using service = await serviceFrom({ ...MAIN, ...route("POST /rows", INSERT, yaml) });
    expect(await outcome(service, "POST /rows", { id: 3 })).toEqual([200, { rows_affected: 1 }]);
  });
});
