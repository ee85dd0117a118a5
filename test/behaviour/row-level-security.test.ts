import { readFileSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { blocksOf } from "../markdown.ts";
import { quickHash } from "../passwords.ts";
import { basicHeader, readmeUsers } from "../readme-users.ts";
import { type ServedFolder, serveFolder } from "../serve-folder.ts";
import { endpoint, serviceFrom } from "../service.ts";
import { type Answer, send } from "./write-project.ts";

/** The example documents row-level security, so it must work as described. */
const folder = join(import.meta.dirname, "..", "..", "examples", "row-level-security");
const readme = readFileSync(join(folder, "README.md"), "utf8");

const passwords = readmeUsers(folder);
const as = (username: string): Record<string, string> => basicHeader(username, passwords.get(username) ?? "");

async function idsOf(example: ServedFolder, username: string, query = ""): Promise<readonly number[]> {
  const { status, text } = await send(example, `GET /invoices${query}`, undefined, as(username));
  expect(status).toBe(200);
  const { data, total_count } = JSON.parse(text) as { data: { id: number }[]; total_count: number };
  expect(total_count).toBe(data.length);
  return data.map(({ id }) => id);
}

/** The example with hashes that are checked quickly, of the same passwords. */
let example: ServedFolder;
let copy: string;
beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), "eider-test-"));
  await cp(folder, copy, { recursive: true });
  let main = await readFile(join(folder, "eider.yaml"), "utf8");
  for (const [username, password] of passwords) {
    const hash = await quickHash(password);
    main = main.replace(new RegExp(`(username: ${username}\\n +password: ).+`), (_, before: string) => before + hash);
  }
  await writeFile(join(copy, "eider.yaml"), main);
  example = await serveFolder(copy);
});
afterAll(async () => {
  await example?.[Symbol.asyncDispose]();
  await rm(copy, { recursive: true });
});

const told = ({ status, text }: Answer): readonly unknown[] => [status, JSON.parse(text)];

test("nobody is let in without the right password", async () => {
  expect([...passwords.keys()]).toEqual(["acme", "globex", "ops"]);
  const wrong = [
    {},
    basicHeader("acme", "x"),
    basicHeader("nobody", "x"),
    basicHeader("acme", passwords.get("globex") ?? ""),
  ];
  for (const target of ["GET /invoices", "GET /invoices/1", "GET /turnover", "POST /invoices"]) {
    for (const headers of wrong) {
      const answer = await send(example, target, undefined, headers);
      expect([target, ...told(answer)]).toEqual([target, 401, { error: "Unauthorized" }]);
    }
  }
});

test("each tenant sees their own rows, an admin all of them", async () => {
  for (const _ of ["first", "remembered"]) {
    expect(await idsOf(example, "acme")).toEqual([4, 3, 1]);
    expect(await idsOf(example, "globex")).toEqual([5, 2]);
    expect(await idsOf(example, "ops")).toEqual([5, 4, 3, 2, 1]);
  }
});

test("what a client sends changes nothing of who it is", async () => {
  for (const query of [
    "?auth.username=globex",
    "?username=globex",
    "?auth.roles=admin",
    "?roles=admin",
    "?tenant=globex",
  ]) {
    expect([query, await idsOf(example, "acme", query)]).toEqual([query, [4, 3, 1]]);
  }
  const headers = { ...as("acme"), "auth.username": "globex", "X-Auth-Username": "globex", "Auth-Roles": "admin" };
  const { text } = await send(example, "GET /invoices", undefined, headers);
  expect(JSON.parse(text)).toMatchObject({ total_count: 3 });
});

test("an answer of one caller is never another's", async () => {
  const acme = await send(example, "GET /invoices", undefined, as("acme"));
  const etag = acme.headers.get("ETag") ?? "";
  expect(etag).not.toBe("");
  const again = await send(example, "GET /invoices", undefined, { ...as("acme"), "If-None-Match": etag });
  expect(again.status).toBe(304);
  const globex = await send(example, "GET /invoices", undefined, { ...as("globex"), "If-None-Match": etag });
  expect(globex.status).toBe(200);
  expect(globex.text).not.toContain("acme");
});

test.each([
  ["acme", 1, 200],
  ["acme", 2, 403],
  ["acme", 99, 403],
  ["globex", 1, 403],
  ["globex", 2, 200],
  ["ops", 1, 200],
  ["ops", 2, 200],
])("%s asks for invoice %i: %i", async (username, id, status) => {
  const answer = await send(example, `GET /invoices/${id}`, undefined, as(username));
  expect(told(answer)).toEqual([
    status,
    status === 200 ? [expect.objectContaining({ id })] : { error: "there is no such invoice, or it is not yours" },
  ]);
});

test("the turnover is for admins", async () => {
  for (const username of ["acme", "globex"]) {
    expect(told(await send(example, "GET /turnover", undefined, as(username)))).toEqual([
      403,
      { error: "only admins see all tenants" },
    ]);
  }
  expect(told(await send(example, "GET /turnover", undefined, as("ops")))).toEqual([
    200,
    [
      { tenant: "acme", invoices: 3, turnover: 986.9 },
      { tenant: "globex", invoices: 2, turnover: 5450.5 },
    ],
  ]);
});

test("the README shows what is answered, and the passwords of all users", async () => {
  await using own = await serveFolder(folder);
  const blocks = blocksOf(readme);
  const shown = blocks.flatMap(({ language, text }, index) =>
    language === "json" ? [{ command: blocks[index - 1]?.text ?? "", answer: text.trim() }] : [],
  );
  expect(shown).toHaveLength(3);
  for (const { command, answer } of shown) {
    const [, user = "", password = ""] = /-u (\w+):(\S+)/.exec(command) ?? [];
    const [, path = ""] = /http:\/\/127\.0\.0\.1:8080([^\s']+)/.exec(command) ?? [];
    const [, body] = /-d '([^']+)'/.exec(command) ?? [];
    const target = `${body === undefined ? "GET" : "POST"} ${path}`;
    const json = { "Content-Type": "application/json" };
    const { text } = await send(own, target, body, {
      ...basicHeader(user, password),
      ...(body === undefined ? {} : json),
    });
    expect(text).toBe(answer);
  }
  for (const username of passwords.keys()) await idsOf(own, username);
});

test("a role is found as a whole, never as a part of another, and not where there is none", async () => {
  const users = { part: "not-an-admin", two: "viewer, admin", none: "", quote: '"x\' OR true --"' };
  await using service = await serviceFrom({
    "eider.yaml": `connections: { memory: {} }\nauth:\n  type: basic\n  users:\n${Object.entries(users)
      .map(([name, roles]) => `    - { username: ${name}, password: p, roles: [${roles}] }\n`)
      .join("")}`,
    ...endpoint(
      "SELECT list_contains(string_split('{{{auth.roles}}}', ','), 'admin') AS admin",
      "with-pagination: false\n",
    ),
  });
  const seen = await Promise.all(
    Object.keys(users).map(async (name) => (await service.get("/x", basicHeader(name, "p"))).json()),
  );
  expect(seen).toEqual([false, true, false, false].map((admin) => [{ admin }]));
});

// The last one: it changes what the others read.
test("a new row belongs to the user who wrote it", async () => {
  const body = { customer: "O'Brien", amount: 12.5 };
  const answer = await send(example, "POST /invoices", body, as("acme"));
  expect(told(answer)).toEqual([
    200,
    { rows_affected: 1, data: [expect.objectContaining({ id: 6, tenant: "acme", ...body })] },
  ]);
  for (const field of ["tenant", "auth.username", "username"]) {
    const refused = await send(example, "POST /invoices", { ...body, [field]: "globex" }, as("acme"));
    expect(told(refused)).toEqual([
      400,
      { errors: [{ field, message: "Unknown parameter not defined in endpoint configuration" }] },
    ]);
  }
  for (const username of ["globex", "ops"]) {
    expect(told(await send(example, "POST /invoices", body, as(username)))).toEqual([
      403,
      { error: "adding invoices needs the role billing" },
    ]);
  }
  expect(await idsOf(example, "acme")).toEqual([6, 4, 3, 1]);
  expect(await idsOf(example, "globex")).toEqual([5, 2]);
});
