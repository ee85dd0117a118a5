import { expect, test } from "vitest";
import { generateClient } from "../../src/client/generate-client.ts";
import { clientProject, hostileNames, hostileProject } from "../client-project.ts";
import { compileClient } from "../compile-client.ts";
import { everyKind } from "../openapi-project.ts";
import { serviceFrom } from "../service.ts";

/** Compiled, never run: what the compiler lets pass, and what it must not. */
const PROGRAM = `
import { createClient, EiderError, type Failure, type GetCustomersField, type GetCustomersRow, type GetWideRow } from "./client.ts";

type Same<Left, Right> = [Left, Right] extends [Right, Left] ? true : false;
const client = createClient({ baseUrl: "http://x", auth: { kind: "bearer", token: async () => "t" } });
createClient({ baseUrl: "http://x", auth: { kind: "basic", username: "a", password: "b" }, headers: { a: "b" }, fetch });
// @ts-expect-error a password is missing
createClient({ baseUrl: "http://x", auth: { kind: "basic", username: "a" } });
// @ts-expect-error an address is needed
createClient({});

export async function reads(signal: AbortSignal | undefined, sort: "id" | undefined): Promise<void> {
  const page = await client.getCustomers();
  const total: number = page.total_count;
  const row: GetCustomersRow | undefined = page.data[0];
  const typed: Same<GetCustomersRow, { id: bigint | null; name: string | null; balance: \`\${number}\` | null; tier: "gold" | "plain" | null; region: string | null }> = true;
  const wide: Same<GetWideRow["nested"], { id: bigint | null; many: Array<\`\${number}\` | null> | null } | null> = true;
  await client.getCustomers({ sort, least: row?.id ?? 5, max_balance: row?.balance ?? 1.5, x_region: "n", limit: 5 }, { signal });
  for await (const each of client.getCustomers.all({ limit: 5n })) void (each.id satisfies bigint | null);
  for await (const each of client.getCustomers.pages()) void (each.next satisfies string);
  const rows = await client.getCustomersById({ id: 5 });
  const single = await client.getSingleById({ id: 5 });
  const name: string | null = single.name;
  void [total, typed, wide, rows.length, name];
  // @ts-expect-error an object is no list
  void single.length;
  // @ts-expect-error an object has no page
  await client.getSingleById({ id: 5, limit: 1 });
  // @ts-expect-error not one of the list
  await client.getCustomers({ sort: "balance" });
  // @ts-expect-error not a number
  await client.getCustomers({ least: "five" });
  // @ts-expect-error not a number
  await client.getCustomers({ max_balance: "much" });
  // @ts-expect-error no such parameter
  await client.getCustomers({ order: "id" });
  // @ts-expect-error required
  await client.getCustomersById();
  // @ts-expect-error required
  await client.getCustomersById({});
  // @ts-expect-error reads take no key
  await client.getCustomers({}, { idempotencyKey: "k" });
  // @ts-expect-error no pages
  client.getWide.all();
  // @ts-expect-error no such endpoint
  client.getNothing();
}

export async function writes(): Promise<void> {
  const added = await client.postCustomers({ id: 1n, name: "a", balance: null }, { idempotencyKey: "k", headers: {} });
  const id: bigint | null | undefined = added.data[0]?.id;
  const changed: number = (await client.putCustomersById({ id: id ?? 1, name: "b" })).rows_affected;
  void changed;
  const upgraded: bigint | null = (await client.patchSingleById({ id: 1 })).data.id;
  void upgraded;
  // @ts-expect-error nothing comes back
  (await client.deleteCustomersById({ id: 1 })).data;
  // @ts-expect-error a name is required
  await client.postCustomers({ id: 1 });
}

/** Every failure has its answer; a new kind would not compile. */
function answer(failure: Failure<GetCustomersField>): string | number | undefined {
  switch (failure.kind) {
    case "validation":
      return failure.errors.map(({ field }) => field satisfies "sort" | "least" | "max_balance" | "x_region" | "limit" | "offset").join();
    case "rate-limited":
    case "unavailable":
    case "conflict":
      return failure.retryAfter;
    case "refused":
    case "unexpected":
      return failure.status;
    case "unauthorized":
    case "forbidden":
    case "not-found":
    case "query-failed":
    case "timeout":
    case "network":
    case "aborted":
      return failure.message;
  }
}

export async function failures(): Promise<void> {
  try {
    await client.getCustomers();
  } catch (error) {
    if (client.getCustomers.isError(error)) answer(error.failure);
    if (!(error instanceof EiderError)) throw error;
    const failure: Failure = error.failure;
    // @ts-expect-error whose fields these are is not known
    answer(failure);
  }
}
`;

const deprecated = /\/\*\*\n(?: {3}\*.*\n)+? {3}\* @deprecated\n {3}\*\/\n {2}readonly putCustomersById:/;

function expectTexts(text: string): void {
  expect(text).toMatch(deprecated);
  expect(text).toContain("  /**\n   * Customers\n   *\n   * All of them.\n   *\n   * `GET /customers`.\n   */\n");
  expect(text).toContain("  /** The least number. At least 1. */\n  least?: number | bigint | undefined;\n");
  expect(text).toContain('  /** Default: `id`. */\n  sort?: "id" | "name" | undefined;\n');
}

test("wrong calls do not compile, right ones do; endpoints of every kind, numbers as each type, and no endpoints (browser)", async () => {
  await using service = await serviceFrom(clientProject);
  await using all = await serviceFrom(everyKind);
  await using none = await serviceFrom({});
  const text = await generateClient(service.service);
  const beside: Record<string, string> = { empty: await generateClient(none.service) };
  for (const bigint of ["bigint", "string", "number"] as const)
    beside[`every-${bigint}`] = await generateClient(all.service, { bigint });
  await using compiled = await compileClient(text, { place: "browser", program: PROGRAM, beside });
  expect(compiled.output).toBe("");
  expectTexts(text);
  // A project without endpoints has a client without methods.
  expect((await compiled.load("empty")).createClient({ baseUrl: "http://x" })).toEqual({});
});

test("the compiler is asked: the same program against another way of numbers does not compile", async () => {
  await using service = await serviceFrom(clientProject);
  const text = await generateClient(service.service, { bigint: "number" });
  await using compiled = await compileClient(text, { place: "browser", program: PROGRAM });
  expect(compiled.output).toMatch(/program\.ts.*error TS/);
});

test("the same project gives the same text, whatever the order of its files", async () => {
  const reversed = Object.fromEntries(
    Object.entries(clientProject).map(([name, text]) => [name.replace(/^(\w+)\.yaml$/, "z$1.yaml"), text]),
  );
  await using one = await serviceFrom(clientProject);
  await using other = await serviceFrom({ ...reversed, "eider.yaml": clientProject["eider.yaml"] ?? "" });
  expect(await generateClient(other.service)).toBe(await generateClient(one.service));
  expect(await generateClient(one.service)).toBe(await generateClient(one.service));
});

test("whatever an author writes stays where it belongs; and the program as above (node)", async () => {
  await using service = await serviceFrom(hostileProject);
  await using other = await serviceFrom(clientProject);
  const text = await generateClient(service.service);
  const options = { place: "node", program: PROGRAM, beside: { hostile: text } } as const;
  await using compiled = await compileClient(await generateClient(other.service), options);
  expect(compiled.output).toBe("");
  expect(text).not.toMatch(/[\u2028\u2029\u202e]/);
  const client = (await compiled.load("hostile")).createClient({ baseUrl: service.url });
  expect(Object.keys(client)).toEqual(["getClass", "getClass_2", "postNaStyX"]);
  const sent = Object.fromEntries(hostileNames.map((name) => [name, `of ${name.length}`]));
  const rows = await client["postNaStyX"]?.({ ...sent, choice: "'" });
  expect((rows as object[]).map((row) => Object.entries(row))[0]).toEqual([
    ["__proto__", 9007199254740993n],
    ["constructor", 9007199254740993n],
    ["class", 1],
    ["1abc", 2],
    [
      `*/ " ' \`\${x}\\`,
      JSON.parse('{"__proto__": 0, "*/": "1.10"}', (key, value) => (key === "__proto__" ? 9007199254740993n : value)),
    ],
    ["p", "of 9"],
    ["t", "of 8"],
    ["choice", "'"],
    ["e", "a*/b"],
  ]);
  // Not sent: an object has something of that name all the same.
  expect(await client["postNaStyX"]?.({ choice: "\n" })).toMatchObject([{ p: "", t: "", choice: "\n" }]);
});
