import { expect, test } from "vitest";
import {
  EiderError,
  type PagedMethod,
  type PageParams,
  type RowMethod,
  type RowsMethod,
  type WriteMethod,
} from "./api.ts";
import { type Operation, openMethods } from "./call.ts";

type Sent = PageParams & Readonly<Record<string, unknown>>;
/** As generated files type it, of every kind at once. */
type Method = WriteMethod<Sent, unknown, string> &
  RowMethod<Sent, unknown, string> &
  RowsMethod<Sent, unknown, string> &
  PagedMethod<Sent, unknown, string>;

/** A method whose requests are kept, and whose answers are these, one after the other. */
function methodOf(operation: Operation, ...answers: readonly (Response | Error)[]) {
  const sent: { readonly url: string; readonly headers: unknown; readonly body: unknown }[] = [];
  const answer: typeof fetch = async (url, init) => {
    const next = answers[sent.push({ url: String(url), headers: init?.headers, body: init?.body }) - 1];
    if (next === undefined || next instanceof Error) throw next ?? new Error("asked too often");
    return next;
  };
  const methods = openMethods({ it: operation }, { baseUrl: "http://x/api//", fetch: answer }, (text) =>
    JSON.parse(text),
  );
  return { it: (methods as { it: Method }).it, sent };
}

async function failureOf(calling: Promise<unknown>): Promise<EiderError> {
  const error: unknown = await calling.catch((reason: unknown) => reason);
  if (!(error instanceof EiderError)) throw new Error(`no failure: ${String(error)}`);
  return error;
}

const read: Operation = { kind: "rows", method: "GET", path: "/things" };

test.each<[number, string, object, unknown]>([
  [502, "<html>", {}, { kind: "unexpected", status: 502, message: "502" }],
  [503, "<html>", { "Retry-After": "7" }, { kind: "unavailable", retryAfter: 7, message: "503" }],
  [
    503,
    "",
    { "Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT" },
    { kind: "unavailable", retryAfter: undefined, message: "503" },
  ],
  [400, '{"error":"no"}', {}, { kind: "refused", status: 400, message: "no" }],
  [
    413,
    '{"errors":[{"field":"body","message":"big"}]}',
    {},
    { kind: "validation", errors: [{ field: "body", message: "big" }], message: "body: big" },
  ],
  [504, '{"error":"slow"}', {}, { kind: "timeout", message: "slow" }],
  [404, "null", {}, { kind: "not-found", message: "404" }],
  [200, "<html>", {}, { kind: "unexpected", status: 200, message: "the response is not the expected JSON" }],
])("an answer of %i with %j", async (status, body, headers, failure) => {
  const { it } = methodOf(read, new Response(body, { status, headers: headers as Record<string, string> }));
  const error = await failureOf(it());
  expect([error.failure, error.status]).toEqual([failure, status]);
});

test("what breaks on the way has its cause", async () => {
  const cause = new TypeError("fetch failed");
  const error = await failureOf(methodOf(read, cause).it());
  expect([error.failure, error.cause, error.status]).toEqual([
    { kind: "network", message: "fetch failed" },
    cause,
    undefined,
  ]);
});

test("what cannot be sent is not sent", async () => {
  const operation: Operation = { kind: "rows", method: "GET", path: "/a/:id/b", headers: [["name", "x-name"]] };
  const { it, sent } = methodOf(operation);
  for (const id of ["", ".", "..", "\ud800", undefined]) {
    const { failure } = await failureOf(it({ id }));
    expect(failure).toMatchObject({ kind: "validation", errors: [{ field: "id" }] });
  }
  const { failure } = await failureOf(it({ id: 1, name: "a\r\nb: c" }));
  expect(failure).toMatchObject({ kind: "validation", errors: [{ field: "name" }] });
  expect(sent).toEqual([]);
});

test("where parameters go", async () => {
  const operation: Operation = {
    kind: "write",
    method: "POST",
    path: "/a/:id",
    query: ["q", "toString", "none"],
    headers: [["x_name", "x-name"]],
    body: ["n", "list", "bad", "gone", "__proto__", "when"],
  };
  const { it, sent } = methodOf(operation, new Response("{}"));
  const body = { n: 2n ** 64n, list: [1n, { a: 2n, b: undefined }, undefined], bad: Number.NaN, gone: null };
  const when = new Date(0);
  await it(
    { id: "a/b ?", q: "x&y=z", x_name: "é", when, ...body, ["__proto__"]: 1 },
    { idempotencyKey: "k", headers: { "X-Name": "z" } },
  );
  expect(sent).toEqual([
    {
      url: "http://x/api/a/a%2Fb%20%3F?q=x%26y%3Dz",
      headers: {
        accept: "application/json",
        "content-type": "application/json",
        "x-name": "z",
        "idempotency-key": "k",
      },
      body: '{"n":18446744073709551616,"list":[1,{"a":2},null],"bad":"NaN","__proto__":1,"when":"1970-01-01T00:00:00.000Z"}',
    },
  ]);
});

test("pages that lead in a circle end", async () => {
  const page = (next: string) => new Response(JSON.stringify({ data: [], next, total_count: 9 }));
  const { it, sent } = methodOf(
    { ...read, kind: "page", query: ["offset"] },
    page("/other/things?offset=5"),
    page("/things?offset=5"),
  );
  const walk = async () => {
    for await (const _ of it.pages());
  };
  expect((await failureOf(walk())).failure).toMatchObject({ kind: "unexpected" });
  expect(sent.map(({ url }) => url)).toEqual(["http://x/api/things?offset=0", "http://x/api/things?offset=5"]);
});
