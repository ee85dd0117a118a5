import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateClient } from "../../src/client/generate-client.ts";
import { clientProject } from "../client-project.ts";
import { type ClientModule, type CompiledClient, compileClient, type LooseMethod } from "../compile-client.ts";
import { serviceFrom, type TestService } from "../service.ts";

/** The generated client, compiled, against the service that it was made for. */
let service: TestService;
let compiled: CompiledClient;
let module: ClientModule;
let client: Readonly<Record<string, LooseMethod>>;

beforeAll(async () => {
  service = await serviceFrom(clientProject);
  compiled = await compileClient(await generateClient(service.service), { place: "node" });
  module = await compiled.load();
  client = module.createClient({ baseUrl: `${service.url}/` });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await compiled[Symbol.asyncDispose]();
});

function call(name: string, params?: object, options?: object): Promise<unknown> {
  const method = client[name];
  if (method === undefined) throw new Error(`no method ${name}`);
  return method(params, options);
}

/** What a call failed with. */
async function failureOf(calling: Promise<unknown>): Promise<unknown> {
  const error = await calling.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(module.EiderError);
  return (error as InstanceType<ClientModule["EiderError"]>).failure;
}

async function collected(items: AsyncIterable<unknown> | undefined): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const item of items ?? []) all.push(item);
  return all;
}

const FIRST = 9007199254740991n;

test("it compiles, and has a method for each endpoint", () => {
  expect(compiled.output).toBe("");
  expect(Object.keys(client)).toEqual([
    ...["getBasic", "getBearer", "getCustomers", "postCustomers", "getCustomersById", "putCustomersById"],
    ...["deleteCustomersById", "getGone", "getLimited", "postRaise", "postSearch", "getSingleById"],
    ...["patchSingleById", "getSlow", "getWide"],
  ]);
});

describe("pages", () => {
  test("one page, with digits that a double does not have", async () => {
    const page = await call("getCustomers", { limit: 2, sort: "id", x_region: "nörd" });
    expect(page).toEqual({
      data: [
        { id: FIRST, name: "customer 1", balance: "0.1000000000", tier: "plain", region: "nörd" },
        { id: FIRST + 1n, name: "customer 2", balance: "0.2000000000", tier: "plain", region: "nörd" },
      ],
      next: "/customers?sort=id&limit=2&offset=2",
      total_count: 25,
    });
  });

  test("all pages follow, with the same parameters", async () => {
    const pages = await collected(client["getCustomers"]?.pages({ least: FIRST + 1n, x_region: "a" }));
    expect(pages.map((page) => (page as { data: unknown[] }).data.length)).toEqual([10, 10, 4]);
    const rows = (await collected(client["getCustomers"]?.all({ limit: 7, offset: 2n }))) as { id: bigint }[];
    expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 23 }, (_, index) => FIRST + 2n + BigInt(index)));
    expect(await collected(client["getCustomers"]?.all({ offset: 100 }))).toEqual([]);
    expect(await collected(client["getCustomers"]?.all({ limit: 0 }))).toEqual([]);
  });

  test("a loop that stops requests no further page", async () => {
    const asked: string[] = [];
    const counted: typeof fetch = (input, init) => {
      asked.push(String(input));
      return fetch(input, init);
    };
    const own = module.createClient({ baseUrl: service.url, fetch: counted });
    for await (const _ of own["getCustomers"]?.all({ limit: 3 }) ?? []) if (asked.length === 2) break;
    expect(asked.map((url) => url.slice(service.url.length))).toEqual([
      "/customers?limit=3&offset=0",
      "/customers?limit=3&offset=3",
    ]);
  });

  test("a POST that reads is paged too, and lists go in its body", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `customer ${index + 1}`);
    const rows = await collected(client["postSearch"]?.all({ names, note: { n: 12345678901234567890n, x: [1.5] } }));
    expect(rows).toHaveLength(12);
    expect(rows[11]).toEqual({ name: "customer 12", note: { n: 12345678901234567890n, x: [1.5] } });
  });
});

test("one row is an object, with all its digits", async () => {
  const id = FIRST + 19n;
  const row = { id, name: "customer 20", balance: "2.0000000000", tier: "plain" };
  expect(await call("getSingleById", { id })).toEqual(row);
  expect(await failureOf(call("getSingleById", { id: 7 }))).toEqual({ kind: "not-found", message: "Not Found" });
  expect(await call("patchSingleById", { id })).toEqual({ rows_affected: 1, data: { id, tier: "gold" } });
  expect(await failureOf(call("patchSingleById", { id: 7 }))).toMatchObject({ kind: "not-found" });
  expect(await failureOf(call("patchSingleById", { id, new_id: FIRST }))).toMatchObject({
    kind: "conflict",
    retryAfter: undefined,
  });
});

test("nested types keep every digit", async () => {
  expect(await call("getWide")).toEqual([
    {
      huge: 170141183460469231731687303715884105727n,
      big: -9223372036854775808n,
      price: "1.10",
      ratio: 0.1,
      nested: { id: 9007199254740993n, many: ["1.50", null] },
      counts: { a: 9007199254740993n },
      deep: { a: { n: 9007199254740993n } },
      list: [{ n: 9007199254740993n, d: "2024-02-29" }],
      doc: { a: [12345678901234567890n, 1.5] },
      one: 5n,
      mixed: "5",
      nothing: null,
      yes: true,
      text: "x",
    },
  ]);
});

test("the other two ways of numbers", async () => {
  const wide = async (mode: "string" | "number"): Promise<unknown> => {
    const text = await generateClient(service.service, { bigint: mode });
    await using other = await compileClient(text, { place: "node" });
    expect(other.output).toBe("");
    return (await other.load()).createClient({ baseUrl: service.url })["getWide"]?.();
  };
  expect(await wide("string")).toMatchObject([
    { huge: "170141183460469231731687303715884105727", price: "1.10", ratio: 0.1, nested: { id: "9007199254740993" } },
  ]);
  expect(await wide("string")).toMatchObject([{ doc: { a: ["12345678901234567890", 1.5] }, one: "5" }]);
  expect(await wide("number")).toEqual(await service.json("/wide"));
});

describe("writes", () => {
  test("rows that come back, what was changed, what was removed", async () => {
    const id = 9223372036854775807n;
    const added = await call("postCustomers", {
      id,
      name: "O'Neill",
      balance: "123456789012345678901234567.0123456789",
    });
    expect(added).toEqual({
      rows_affected: 1,
      data: [{ id, name: "O'Neill", balance: "123456789012345678901234567.0123456789", tier: "plain" }],
    });
    expect(await call("putCustomersById", { id, name: "Neill" })).toEqual({ rows_affected: 1 });
    expect(await call("getCustomersById", { id })).toMatchObject([{ name: "Neill" }]);
    expect(await call("deleteCustomersById", { id })).toEqual({ rows_affected: 1 });
    expect(await call("deleteCustomersById", { id })).toEqual({ rows_affected: 0 });
  });

  test("a key makes two calls one", async () => {
    const [params, options] = [{ id: 5, name: "once" }, { idempotencyKey: "only-once" }];
    const first = await call("postCustomers", params, options);
    expect(await call("postCustomers", params, options)).toEqual(first);
    expect(await failureOf(call("postCustomers", { ...params, name: "other" }, options))).toMatchObject({
      kind: "refused",
      status: 422,
    });
    expect(await call("deleteCustomersById", { id: 5 })).toEqual({ rows_affected: 1 });
  });
});

test("who calls", async () => {
  const as = (auth?: object) => module.createClient({ baseUrl: service.url, auth });
  const basic = as({ kind: "basic", username: "änn", password: "sécret:x" });
  expect(await basic["getBasic"]?.()).toEqual([{ name: "änn" }]);
  let asked = 0;
  const token = async () => (++asked === 1 ? "a-wrong-token" : "a-token-of-some-length");
  const bearer = as({ kind: "bearer", token });
  expect(await failureOf(bearer["getBearer"]?.() ?? Promise.resolve())).toEqual({
    kind: "unauthorized",
    message: "Unauthorized",
  });
  expect(await bearer["getBearer"]?.()).toEqual([{ name: "ben" }]);
  expect(await failureOf(as()["getBasic"]?.() ?? Promise.resolve())).toMatchObject({ kind: "unauthorized" });
  const headers = { Authorization: "Bearer a-token-of-some-length" };
  expect(await as()["getBearer"]?.({}, { headers })).toEqual([{ name: "ben" }]);
});

describe("failures", () => {
  test.each([
    ["getCustomers", { least: 0, sort: "x" }, "validation"],
    ["getCustomersById", { id: 1 }, "not-found"],
    ["postRaise", { what: "403: not yours" }, "forbidden"],
    ["postRaise", { what: "409: taken" }, "conflict"],
    ["postRaise", { what: "418: no coffee" }, "refused"],
    ["postRaise", { what: "boom" }, "query-failed"],
    ["getGone", {}, "unavailable"],
  ])("%s with %j: %s", async (name, params, kind) => {
    expect(await failureOf(call(name, params))).toMatchObject({ kind });
  });

  test("fields are named, and an error knows whose it is", async () => {
    const error = await call("getCustomers", { least: 0, sort: "x" }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      name: "EiderError",
      message: "getCustomers: sort: Invalid enum value; least: Integer is less than the minimum allowed value",
      operation: "getCustomers",
      status: 400,
      requestId: expect.any(String),
      failure: {
        kind: "validation",
        errors: [
          { field: "sort", message: "Invalid enum value" },
          { field: "least", message: "Integer is less than the minimum allowed value" },
        ],
      },
    });
    expect(client["getCustomers"]?.isError(error)).toBe(true);
    expect(client["getWide"]?.isError(error)).toBe(false);
    expect(client["getWide"]?.isError(new Error("x"))).toBe(false);
  });

  test("too many calls", async () => {
    await call("getLimited");
    expect(await failureOf(call("getLimited"))).toMatchObject({ kind: "rate-limited", retryAfter: expect.any(Number) });
  });

  test("a signal ends a call, before and while it runs", async () => {
    expect(await failureOf(call("getSlow", {}, { signal: AbortSignal.abort() }))).toMatchObject({ kind: "aborted" });
    const controller = new AbortController();
    const running: typeof fetch = (input, init) => {
      setImmediate(() => controller.abort());
      return fetch(input, init);
    };
    const own = module.createClient({ baseUrl: service.url, fetch: running });
    const calling = own["getSlow"]?.({}, { signal: controller.signal });
    expect(await failureOf(calling ?? Promise.resolve())).toMatchObject({ kind: "aborted" });
  });

  test("nobody listens", async () => {
    const lost = module.createClient({ baseUrl: "http://127.0.0.1:1" });
    expect(await failureOf(lost["getWide"]?.() ?? Promise.resolve())).toMatchObject({ kind: "network" });
  });
});
